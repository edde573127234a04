# SPDX-License-Identifier: BSD-3-Clause
"""Steps of other programs for the same task, as far as they are installed, and of plain loops."""

import warnings
from collections.abc import Callable
from importlib import metadata

import numpy as np

from rbmbench.training.timing import made_data

NUMPY, TORCH = "NumPy loop", "PyTorch loop"
SCIKIT_LEARN, RBMS = "scikit-learn BernoulliRBM", "rbms (PyTorch)"


def missing() -> list[str]:
    """Return the peers that are not installed, or not in a version with the functions that are timed here.

    The extra "peers" installs them.
    """
    peers = {TORCH: _torch, SCIKIT_LEARN: _scikit_learn_parts, RBMS: _rbms_parts}
    return [peer for peer, parts in peers.items() if not _found(parts)]


def versions() -> dict[str, str]:
    """Return the versions of the packages of peers that are installed, beside those of `provenance`."""
    installed = {package.name: package.version for package in metadata.distributions()}
    return {name: installed[name] for name in ("torch", "rbms") if name in installed}


def _found(parts: Callable[[], object]) -> bool:
    try:
        parts()
    except ImportError:
        return False
    return True


def _torch():
    import torch

    torch.set_num_threads(1)
    return torch


def _scikit_learn_parts():
    from sklearn.neural_network import BernoulliRBM

    return BernoulliRBM


def _rbms_parts():
    with warnings.catch_warnings():
        # It uses a deprecated way to compile functions.
        warnings.simplefilter("ignore", FutureWarning)
        from rbms.bernoulli_bernoulli.classes import BBRBM
        from rbms.training.pcd import fit_batch_pcd

    return BBRBM, fit_batch_pcd


def cd_steps(visible, hidden, batch, k) -> dict[str, Callable[[], object]]:
    """Return one CD-k update of each installed peer that supports it."""
    return _installed(
        {
            NUMPY: lambda: _numpy_step(visible, hidden, batch, k, persistent=False),
            TORCH: lambda: _torch_step(visible, hidden, batch, k, persistent=False),
            RBMS: lambda: _rbms_step(visible, hidden, batch, k, persistent=False),
        }
    )


def pcd_steps(visible, hidden, batch) -> dict[str, Callable[[], object]]:
    """Return one PCD-1 update of each installed peer."""
    return _installed(
        {
            NUMPY: lambda: _numpy_step(visible, hidden, batch, 1, persistent=True),
            TORCH: lambda: _torch_step(visible, hidden, batch, 1, persistent=True),
            SCIKIT_LEARN: lambda: _scikit_learn_step(visible, hidden, batch),
            RBMS: lambda: _rbms_step(visible, hidden, batch, 1, persistent=True),
        }
    )


def _installed(makers: dict[str, Callable[[], Callable]]) -> dict[str, Callable[[], object]]:
    """Return the updates of installed peers."""
    return {peer: make() for peer, make in makers.items() if peer not in missing()}


def _numpy_step(visible, hidden, batch, k, persistent) -> Callable[[], object]:
    """Return one update of a loop as one writes it in NumPy, in float32."""
    rng = np.random.default_rng(0)
    rows = made_data(batch, visible).astype(np.float32)

    def mean(states, W, bias):
        return 1 / (1 + np.exp(-(states @ W + bias)))

    def sample(p):
        return (rng.random(p.shape, np.float32) < p).astype(np.float32)

    return _step_of_loop(rng.normal(0, 0.01, (visible, hidden)).astype(np.float32), rows, k, persistent, mean, sample)


def _torch_step(visible, hidden, batch, k, persistent) -> Callable[[], object]:
    """Return one update of a loop as one writes it in PyTorch."""
    torch = _torch()
    torch.manual_seed(0)
    rows = torch.from_numpy(made_data(batch, visible).astype(np.float32))

    def mean(states, W, bias):
        return torch.sigmoid(torch.addmm(bias, states, W))

    return torch.no_grad()(
        _step_of_loop(0.01 * torch.randn(visible, hidden), rows, k, persistent, mean, torch.bernoulli)
    )


def _step_of_loop(W, rows, k, persistent, mean, sample, rate=0.01) -> Callable[[], object]:
    """Return one update of W and the biases, arrays of NumPy or PyTorch, given means and samples of units."""
    b, c = 0 * W[:, 0], 0 * W[0]
    chains = [rows]

    def step():
        positive = mean(rows, W, c)
        p, v = mean(chains[0], W, c) if persistent else positive, rows
        for _ in range(k):
            v = sample(mean(sample(p), W.T, b))
            p = mean(v, W, c)
        if persistent:
            chains[0] = v
        W.__iadd__(rate / len(rows) * (rows.T @ positive - v.T @ p))
        b.__iadd__(rate * (rows.mean(0) - v.mean(0)))
        c.__iadd__(rate * (positive.mean(0) - p.mean(0)))

    return step


def _scikit_learn_step(visible, hidden, batch) -> Callable[[], object]:
    """Return one update of scikit-learn's BernoulliRBM."""
    BernoulliRBM = _scikit_learn_parts()
    model = BernoulliRBM(n_components=hidden, batch_size=batch, learning_rate=0.01, random_state=0)
    rows = made_data(batch, visible).astype("float32")
    return lambda: model.partial_fit(rows)


def _rbms_step(visible, hidden, batch, k, persistent) -> Callable[[], object]:
    """Return one update of rbms, as in its training loop (rbms/training/pcd.py), without its log file."""
    import torch

    BBRBM, fit_batch_pcd = _rbms_parts()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows = torch.from_numpy(made_data(batch, visible).astype("float32"))
    weights = torch.ones(batch)
    model = BBRBM(0.01 * torch.randn(visible, hidden), torch.zeros(visible), torch.zeros(hidden))
    model.init_grad()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, maximize=True)
    kept = {"chains": model.init_chains(batch)}

    @torch.no_grad()
    def step():
        if not persistent:
            kept["chains"] = model.init_chains(batch, weights=weights, start_v=rows)
        optimizer.zero_grad(set_to_none=False)
        kept["chains"], _ = fit_batch_pcd((rows, weights), kept["chains"], model, k, beta=1.0)
        optimizer.step()

    return step
