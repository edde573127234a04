# SPDX-License-Identifier: BSD-3-Clause
"""The reference kernels in plain NumPy, which define the results of all backends. Also the fallback without Numba.

Shapes are those of `rbmbench.kernels`; `random` defines which random number each entry takes.
"""

import numpy as np

from rbmbench.base.streams import Draw
from rbmbench.kernels.numpy import elementary
from rbmbench.kernels.numpy.coupling import *
from rbmbench.kernels.numpy.products import *
from rbmbench.kernels.numpy.random import toss, uniforms
from rbmbench.kernels.numpy.samples import *

__all__ = [
    "add_deviations",
    "ascend",
    "bernoulli_mean",
    "bernoulli_mean_and_softplus_sum",
    "count_distances",
    "couple_visible",
    "draw_lazily",
    "gather_rows",
    "herd_lazily",
    "hidden_log_weights",
    "mean_of_rows",
    "multiply_binary",
    "multiply_neighbours",
    "multiply_packed",
    "multiply_states",
    "packed_rows",
    "sample",
    "sample_bernoulli",
    "sample_bernoulli_and_log_probability",
    "sample_rows",
    "softplus_difference",
    "softplus_sum",
    "sum_rows",
    "tempered_sweeps",
    "uniforms",
    "unlearn_lazily",
    "unlearn_samples",
]


def gather_rows(data: np.ndarray, index: np.ndarray, out: np.ndarray) -> None:
    """Write ``data[index]`` as floats: data (rows, m) uint8, index (replicas, batch), out (replicas, batch, m)."""
    out[...] = data[index]


def bernoulli_mean(activation, bias) -> None:
    """Overwrite ``activation`` with sigmoid(activation + bias)."""
    activation[...] = elementary.sigmoid(activation + bias[:, None, :])


def bernoulli_mean_and_softplus_sum(activation, bias, softplus) -> None:
    """Apply `softplus_sum` and then `bernoulli_mean`, in one pass."""
    softplus_sum(activation, bias, softplus)
    bernoulli_mean(activation, bias)


def ascend(parameter, up, up_rate: float, down, down_rate: float) -> None:
    """Add up_rate * up - down_rate * down to ``parameter``; arrays of one shape."""
    kind = parameter.dtype.type
    parameter += kind(up_rate) * up - kind(down_rate) * down


def add_deviations(first, first_scale: float, second, second_scale: float, offset, sums, squares) -> None:
    """Add d = first_scale * first - second_scale * second - offset to ``sums``, and |d|^2 to ``squares``.

    ``first`` and ``second`` (replicas, P) are float32 or float64; ``second`` may be None, which is 0. ``offset`` and
    ``sums`` (replicas, P) and ``squares`` (replicas,) are float64, as is the arithmetic.
    """
    deviation = first_scale * first.astype(np.float64) - offset
    if second is not None:
        deviation -= second_scale * second.astype(np.float64)
    sums += deviation
    squares += np.einsum("rp,rp->r", deviation, deviation)


def softplus_sum(activation, bias, softplus) -> None:
    """Write sum_units log(1 + exp(activation + bias)), nats, to ``softplus``: float64 (replicas, rows)."""
    softplus[...] = elementary.softplus(activation + bias[:, None, :]).sum(axis=-1, dtype=np.float64)


def sample(mean, draw: Draw, out) -> None:
    """Write samples of Bernoulli(mean), see `toss`."""
    out[...] = toss(draw, mean)


def softplus_difference(activation, bias, first: float, second: float, difference) -> None:
    """Add the row sums of softplus(second (activation + bias)) - softplus(first (activation + bias)) to ``difference``.

    ``difference`` is float64 (replicas, rows), nats; ``first`` and ``second`` are inverse temperatures.
    """
    a = activation + bias[:, None, :]
    kind = a.dtype.type
    difference += (elementary.softplus(kind(second) * a) - elementary.softplus(kind(first) * a)).sum(
        axis=-1, dtype=np.float64
    )


def sample_bernoulli(activation, bias, draw: Draw, scale: float = 1.0) -> None:
    """Overwrite ``activation`` with a sample of Bernoulli(sigmoid(scale * activation + bias))."""
    activation[...] = toss(draw, elementary.sigmoid(activation.dtype.type(scale) * activation + bias[:, None, :]))


def sample_bernoulli_and_log_probability(activation, bias, draw: Draw, log_probability) -> None:
    """Sample like `sample_bernoulli`, and write the log probability of each row's sample.

    ``log_probability`` is float64 (replicas, rows): sum over units of x a - softplus(a), a = activation + bias, nats.
    """
    a = activation + bias[:, None, :]
    activation[...] = toss(draw, elementary.sigmoid(a))
    log_probability[...] = (activation * a - elementary.softplus(a)).sum(axis=-1, dtype=np.float64)


def tempered_sweeps(W, b, c, inverse_temperatures, draw: Draw, visible, samples) -> None:
    """Advance independent sets of tempered chains, and record the states at inverse temperature 1.

    A sweep is: h ~ sigmoid(beta (c + v W)), v ~ sigmoid(beta (b + W h)) for every chain, then swaps of the even and
    then of the odd neighbouring pairs of whole states (v, h), accepted with probability
    min(1, exp((beta_r - beta_s) (E_r - E_s))), E the energy of (v, h). Sweep s uses draw ``draw.number + s``.

    Parameters
    ----------
    W, b, c : ndarray, shapes (replicas, m, n), (replicas, m), (replicas, n)
    inverse_temperatures : ndarray, shape (chains,), ascending to 1
    draw : Draw
        The first of successive draws, one per sweep.
    visible : ndarray, shape (replicas, sets, chains, m)
        Visible states of the chains; changed in place.
    samples : ndarray, shape (replicas, sets, sweeps, m)
        Receives the visible state of the last chain after each sweep.
    """
    replicas, sets, chains, m = visible.shape
    n = W.shape[-1]
    beta = inverse_temperatures[:, None]
    for sweep in range(samples.shape[2]):
        number = draw._replace(number=draw.number + np.uint64(sweep))
        u = uniforms(number, sets * chains * (n + m + 1), W.dtype).reshape(replicas, sets, chains * (n + m + 1))
        u_h, u_v, u_swap = np.split(u, [chains * n, chains * (n + m)], axis=-1)
        hidden_activation = visible @ W[:, None] + c[:, None, None, :]
        hidden = (u_h.reshape(hidden_activation.shape) < elementary.sigmoid(beta * hidden_activation)).astype(W.dtype)
        activation = hidden @ W.swapaxes(-1, -2)[:, None] + b[:, None, None, :]
        visible[...] = u_v.reshape(activation.shape) < elementary.sigmoid(beta * activation)
        energy = -(visible * activation).sum(-1) - (hidden * c[:, None, None, :]).sum(-1)
        for first in (0, 1):
            for r in range(first, chains - 1, 2):
                exponent = (inverse_temperatures[r] - inverse_temperatures[r + 1]) * (
                    energy[..., r] - energy[..., r + 1]
                )
                swap = u_swap[..., r] < np.exp(np.minimum(exponent, 0))
                for state in (visible, energy):
                    pair = state[:, :, r : r + 2]
                    pair[swap] = pair[swap][:, ::-1]
        samples[:, :, sweep] = visible[:, :, -1]


def hidden_log_weights(W, b, c) -> np.ndarray:
    """Return log sum_v exp(-E(v, h)) for all hidden states h of one RBM, nats, float64 (2**n,).

    W (m, n), b and c are float64. Hidden unit j of state s is bit n - 1 - j of s.
    """
    n = len(c)
    log_weights = np.empty(2**n)
    block = max(1, min(2**n, 2**22 // max(1, len(b))))
    for start in range(0, 2**n, block):
        h = binary_states(n, start, min(2**n, start + block))
        log_weights[start : start + len(h)] = h @ c + elementary.softplus(h @ W.T + b).sum(axis=1)
    return log_weights


def binary_states(units: int, start: int = 0, stop: int | None = None) -> np.ndarray:
    """Return states ``start`` to ``stop`` - 1 of binary units, float64 (states, units); unit 0 is the highest bit."""
    return states_of(np.arange(start, 2**units if stop is None else stop), units)


def states_of(numbers: np.ndarray, units: int) -> np.ndarray:
    """Return the states of binary units with these numbers, float64 (..., units); unit 0 is the highest bit."""
    bits = np.arange(units - 1, -1, -1, dtype=np.uint64)
    return ((numbers.astype(np.uint64)[..., None] >> bits) & np.uint64(1)).astype(np.float64)
