# SPDX-License-Identifier: BSD-3-Clause
"""Libraries for RBMs, compared with the models of `conformance.reference`.

A library returns numbers of a model, or blocks of estimates of them. Numbers are compared up to rounding; the means of
estimates up to their standard errors, so that a correct library fails in one of a thousand tables.
"""

import math
import warnings
from collections.abc import Iterable, Iterator
from importlib import import_module, metadata
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from conformance.reference import STEPS, Reference
from rbmbench import estimators
from rbmbench.base.streams import Stream
from rbmbench.kernels.numpy import binary_states
from rbmbench.likelihood import exact_gradient, exact_log_partition, log_likelihood
from rbmbench.model.rbm import Statistics
from rbmbench.training.scikit_learn import to_scikit_learn

BLOCKS, COPIES = 40, 20
"""Blocks of estimates, and copies of the rows in each."""
ERROR_RATE = 1e-3 / 1e5
"""Error rate of one comparison, of which there are fewer than 100 000 in a table."""
ROUNDING = {np.dtype(np.float64): 1e-10, np.dtype(np.float32): 1e-4}
"""Allowed difference, relative to the larger of 1 and the number."""
MOST_BYTES = 2**29
"""Most bytes of the states of a layer with the means of the other, for libraries that enumerate all at once."""


class Result(NamedTuple):
    """Numbers of a library for a model, or blocks of estimates (`BLOCKS`, ...) if there are ``chains`` in each.

    ``call`` is the function of the library; ``quantity`` a name in the arrays of the model. NaN are not compared.
    """

    call: str
    quantity: str
    values: np.ndarray
    chains: int = 0


class Library(Protocol):
    """A library that can be checked."""

    name: str
    package: str

    def results(self, model: Reference) -> Iterator[Result]:
        """Yield the results of the library for a model; imports it first."""


class Own:
    """rbmbench in float32: likelihoods, the exact gradient, and the estimator CD."""

    name = package = "rbmbench"

    def results(self, model: Reference) -> Iterator[Result]:
        """See `Library`."""
        rbm, rows = model.rbm.astype(np.float32), model.arrays["rows"]
        log_partition = exact_log_partition(rbm)
        yield Result("likelihood.exact_log_partition", "log_partition", log_partition)
        values = np.array([log_likelihood(rbm, row[None], log_partition) for row in rows])
        yield Result("likelihood.log_likelihood", "log_likelihood", values)
        yield Result("RBM.free_energy", "free_energy", rbm.free_energy(rows))
        yield Result("RBM.hidden_mean", "hidden_mean", rbm.hidden_mean(rows))
        yield from _parts("likelihood.exact_gradient", "gradient", exact_gradient(rbm, rows))
        for k in STEPS if model.is_small else ():
            estimator, batch = estimators.create("cd", k=k), np.tile(rows, (COPIES, 1))[None].astype(np.float32)
            state = estimator.start(rbm.replicas, batch[0], len(batch[0]), Stream(k, [0]))
            blocks = []
            for block in range(BLOCKS):
                estimate = estimator.estimate(rbm.replicas, batch, state, Stream(k, [0], number=1000 * (block + 1)))
                blocks.append([np.array(array[0]) for array in estimator.gradient(estimate)])
            yield from _parts("estimators.cd", f"cd_{k}", _stacked(blocks), len(batch[0]))


class ScikitLearn:
    """`sklearn.neural_network.BernoulliRBM`."""

    name, package = "BernoulliRBM", "scikit-learn"

    def results(self, model: Reference) -> Iterator[Result]:
        """See `Library`."""
        rows = model.arrays["rows"].astype(np.float64)
        fitted = self._fitted(model, rows, seed=0)
        yield Result("transform", "hidden_mean", fitted.transform(rows))
        yield Result("_free_energy", "free_energy", fitted._free_energy(rows))
        yield Result("score_samples", "log_likelihood", fitted.score_samples(rows))
        if not model.is_small:
            return
        tiled = np.tile(rows, (COPIES, 1))
        scores = [self._fitted(model, rows, seed).score_samples(tiled) for seed in range(BLOCKS)]
        means = np.array(scores).reshape(BLOCKS, COPIES, len(rows)).mean(axis=1)
        yield Result("score_samples, mean of many", "pseudo_log_likelihood", means, COPIES)
        fitted.random_state_ = np.random.RandomState(1)
        moves = [tiled.mean(axis=0) - fitted.gibbs(tiled).mean(axis=0) for _ in range(BLOCKS)]
        yield Result("gibbs", "cd_1_b", np.array(moves), len(tiled))
        for call, chains in {"partial_fit": 1, "partial_fit, half a batch": 2}.items():
            blocks = [self._update(model, tiled, chains, seed) for seed in range(BLOCKS)]
            yield from _parts(call, "cd_1", _stacked(blocks), len(tiled))

    def _fitted(self, model: Reference, rows: np.ndarray, seed: int) -> Any:
        fitted = to_scikit_learn(model.rbm.copy())
        return fitted.set_params(learning_rate=1.0, batch_size=len(rows), random_state=seed)

    def _update(self, model: Reference, rows: np.ndarray, chains: int, seed: int) -> list[np.ndarray]:
        """Return the update of a batch whose chains are at its rows; with several chains for each row."""
        fitted, random = self._fitted(model, rows, seed), np.random.RandomState(seed + BLOCKS)
        mean = fitted.transform(np.tile(rows, (chains, 1)))
        fitted.set_params(batch_size=len(mean))
        fitted.random_state_, fitted.h_samples_ = random, (random.uniform(size=mean.shape) < mean).astype(float)
        fitted.partial_fit(rows)
        after = fitted.components_.T, fitted.intercept_visible_, fitted.intercept_hidden_
        return [new - old for new, old in zip(after, model.rbm.parameters, strict=True)]


class Rbms:
    """`rbms` (PyTorch), in float64."""

    name = package = "rbms"

    def results(self, model: Reference) -> Iterator[Result]:
        """See `Library`."""
        torch, BBRBM = import_module("torch"), self._import("bernoulli_bernoulli.classes").BBRBM
        torch.manual_seed(0)
        torch.set_num_threads(1)  # threads take longer than the computation
        arrays = {name: torch.from_numpy(np.array(values, np.float64)) for name, values in model.arrays.items()}
        rbm, rows = BBRBM(arrays["W"], arrays["b"], arrays["c"]), arrays["rows"]
        weights = torch.ones(len(rows), dtype=torch.float64)
        yield Result("init_chains", "hidden_mean", rbm.init_chains(len(rows), start_v=rows)["hidden_mag"].numpy())
        energy = rbm.compute_energy(arrays["swap_visible"], arrays["swap_hidden"])
        yield Result("compute_energy", "energy", energy.numpy())
        yield Result("compute_energy_visibles", "free_energy", rbm.compute_energy_visibles(rows).numpy())
        m, n = model.rbm.W.shape
        if 8 * 2 ** min(m, n) * max(m, n) <= MOST_BYTES:
            states = torch.from_numpy(np.asarray(binary_states(min(m, n)), np.float64))
            log_z = self._import("partition_function.exact").compute_partition_function(rbm, states)
            yield Result("compute_partition_function", "log_partition", np.array(log_z))
        score, log_z = self._import("utils").compute_log_likelihood, float(arrays["log_partition"])
        values = [score(row[None], weights[:1], rbm, log_z) for row in rows]
        yield Result("compute_log_likelihood", "log_likelihood", np.array(values))
        if model.is_small:
            yield from self._gradients(rbm, rows.repeat(COPIES, 1))
            yield from self._swaps(rbm, arrays, len(rows) * COPIES)

    def _import(self, module: str) -> Any:
        with warnings.catch_warnings():
            # It uses a deprecated way to compile functions.
            warnings.simplefilter("ignore")
            return import_module(f"rbms.{module}")

    def _gradients(self, rbm: Any, rows: Any) -> Iterator[Result]:
        """Yield the gradients of chains that start at the rows, as computed by the library and as used by it."""
        torch, fit_batch = import_module("torch"), self._import("training.pcd").fit_batch_pcd
        rbm.init_grad()
        weights, parameters = torch.ones(len(rows), dtype=torch.float64), rbm.parameters()

        def gradient() -> list[np.ndarray]:
            return [parameter.grad.numpy().copy() for parameter in parameters]

        for k in STEPS:
            plain, used = [], []
            for _ in range(BLOCKS):
                data = rbm.init_chains(len(rows), weights=weights, start_v=rows)
                rbm.compute_gradient(data, rbm.sample_state(data, k), centered=False)
                plain.append(gradient())
                if k == 1:
                    fit_batch((rows, weights), data, rbm, k, 1.0, centered=False)
                    used.append(gradient())
            yield from _parts("compute_gradient(centered=False)", f"cd_{k}", _stacked(plain), len(rows))
            if used:
                yield from _parts("fit_batch_pcd(centered=False)", f"cd_{k}", _stacked(used), len(rows))

    def _swaps(self, rbm: Any, arrays: dict, copies: int) -> Iterator[Result]:
        """Yield the shares of swaps between neighbouring temperatures."""
        swap, beta = self._import("sampling.pt").swap_configurations, arrays["beta"]
        shares = np.full((BLOCKS, len(beta), len(beta)), np.nan)
        for block in range(BLOCKS):
            for low in range(len(beta) - 1):
                states = [
                    rbm.init_chains(copies, start_v=arrays["swap_visible"][i].repeat(copies, 1)) for i in (low, low + 1)
                ]
                shares[block, low, low + 1] = float(swap(states, rbm, beta[low : low + 2])[1])
        yield Result("swap_configurations", "swap_acceptance", shares, copies)
        yield Result("swap_configurations", "swap_acceptance_visible", shares, copies)


LIBRARIES: tuple[Library, ...] = (Own(), ScikitLearn(), Rbms())


def version(library: Library) -> str | None:
    """Return the version of a library; None if it is not installed."""
    try:
        return metadata.version(library.package)
    except metadata.PackageNotFoundError:
        return None


def compare(library: Library, models: Iterable[Reference]) -> pd.DataFrame:
    """Return one row per function and quantity of a library.

    Columns: call, quantity, models (their number), error and allowed (the difference with the largest ratio to the
    allowed one), passes, and fails (the smallest model that does not pass, "" for none).
    """
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for model in sorted(models, key=lambda model: (model.rbm.visible_units + model.rbm.hidden_units, model.name)):
        for result in library.results(model):
            error, allowed = difference(result, model.arrays[result.quantity])
            new = {"models": 0, "error": 0.0, "allowed": math.inf, "ratio": -1.0, "passes": True, "fails": ""}
            row = rows.setdefault((result.call, result.quantity), new)
            row["models"] += 1
            if error / allowed > row["ratio"]:
                row |= {"error": error, "allowed": allowed, "ratio": error / allowed}
            if error > allowed and row["passes"]:
                row |= {"passes": False, "fails": model.name}
    table = [{"call": call, "quantity": quantity} | row for (call, quantity), row in rows.items()]
    return pd.DataFrame(table).drop(columns="ratio")


def difference(result: Result, exact: np.ndarray) -> tuple[float, float]:
    """Return the difference of a library from an exact number, and the one allowed, where their ratio is largest.

    A number that is not finite has an infinite difference.
    """
    values, compared = result.values, ~np.isnan(result.values)
    if result.chains:
        compared = compared.all(axis=0)
        mean, deviation = values.mean(axis=0), values.std(axis=0, ddof=1)
        # The second term is for rare states, whose frequency is no normal variable.
        rare = math.log(2 / ERROR_RATE) / (result.chains * len(values))
        scale = max(1.0, float(np.abs(exact).max())) if result.quantity == "pseudo_log_likelihood" else 1.0
        allowed = -stdtrit(len(values) - 1, ERROR_RATE / 2) * deviation / math.sqrt(len(values)) + rare * scale
    else:
        mean, allowed = values, ROUNDING[values.dtype] * np.maximum(1, np.abs(exact))
    with np.errstate(invalid="ignore"):
        error = np.abs(mean.astype(np.float64) - exact)
    error = np.where(np.isfinite(mean) | ~compared, error, np.inf)
    ratio = np.where(compared, error / allowed, -1.0)
    worst = np.unravel_index(np.argmax(ratio), ratio.shape)
    return float(error[worst]), float(np.broadcast_to(allowed, ratio.shape)[worst])


def _stacked(blocks: list[list[np.ndarray]]) -> Statistics:
    return Statistics(*(np.stack(parts) for parts in zip(*blocks, strict=True)))


def _parts(call: str, quantity: str, values: Statistics, chains: int = 0) -> Iterator[Result]:
    for part, array in values._asdict().items():
        yield Result(call, f"{quantity}_{part}", array, chains)
