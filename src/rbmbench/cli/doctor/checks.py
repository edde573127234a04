# SPDX-License-Identifier: BSD-3-Clause
"""Checks of kernels on small RBMs, against sums over all states or against the reference kernels.

Expected values are formulas of `rbmbench.model.rbm` in NumPy, which call no kernel. Bounds are of two kinds. Rounding:
a sum of q terms is off by at most about q eps times the sum of their absolute values. Chance: a correct sampler exceeds
the bound with probability `ERROR_RATE` over seeds; seeds are fixed, so results repeat.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from rbmbench import estimators
from rbmbench.base.streams import Stream
from rbmbench.kernels import kernels_for, on_host, reference_kernels
from rbmbench.likelihood import ais_log_partition, exact_gradient, exact_log_partition, log_likelihood
from rbmbench.likelihood.cd_bias import total_variation
from rbmbench.model.enumeration import Conditional, all_states, empirical_distribution, visible_distribution
from rbmbench.model.gibbs import Buffers, Population, population_statistics
from rbmbench.model.rbm import RBM
from rbmbench.samplers import create
from rbmbench.training import trainer

ERROR_RATE = 1e-6
EPS = np.finfo(np.float64).eps
ROUNDING = 8  # error of a term in eps: products, exp and log are each accurate to one or two


class Place(NamedTuple):
    """Kernels to check: their name, the context that selects them, and a function that puts an array there."""

    kernels: str
    chosen: Callable[[], AbstractContextManager]
    put: Callable[[np.ndarray], Any]

    def rbm(self, rbm: RBM, dtype=np.float64) -> RBM:
        """Return an RBM with parameters of a type at this place."""
        return RBM(*(self.put(parameter.astype(dtype)) for parameter in (rbm.W, rbm.b, rbm.c)))


class Measured(NamedTuple):
    """The error that a check has measured, and its bound."""

    value: float
    bound: float


def log_partition(place: Place) -> Measured:
    """Compare log Z, summed over the states of either layer, with the sum over those of both."""
    rbm = _random_rbm(11, 5)
    ours = place.rbm(rbm)
    W, b, c = ours.W[0], ours.b[0], ours.c[0]
    transposed = place.put(np.ascontiguousarray(rbm.W[0].T))
    log_weights = kernels_for(W).hidden_log_weights
    found = [logsumexp(on_host(log_weights(*parts))) for parts in ((W, b, c), (transposed, c, b))]
    found.append(exact_log_partition(ours)[0])
    return Measured(np.abs(np.array(found) - _joint_log_partition(rbm)).max(), _rounding(rbm))


def gradient(place: Place) -> Measured:
    """Compare the exact gradient with central differences of the log-likelihood.

    Their truncation error is bounded by third cumulants of variables of 0 and 1, at most 1 / (6 sqrt 3) each.
    """
    rbm, rows, step = _random_rbm(7, 5), place.put(_random_rows(13, 7)), 1e-3
    flat = np.concatenate([p.ravel() for p in (rbm.W, rbm.b, rbm.c)])
    moved = flat + step * np.concatenate([np.eye(len(flat)), -np.eye(len(flat))])
    W, b, c = np.split(moved, [35, 42], axis=1)
    neighbours = place.rbm(RBM(W.reshape(-1, 7, 5), b, c))
    up, down = np.split(log_likelihood(neighbours, rows, exact_log_partition(neighbours)), 2)
    found = on_host(exact_gradient(place.rbm(rbm), rows).flat())[0]
    truncation = step**2 / 6 * 2 / (6 * np.sqrt(3))
    return Measured(np.abs((up - down) / (2 * step) - found).max(), truncation + 2 * _rounding(rbm) / step)


def expected_cd(place: Place) -> Measured:
    """Compare the second term of expected CD-3 with that of the transition matrix."""
    rbm, rows, k = _random_rbm(7, 5), _random_rows(13, 7), 3
    found = _second_term("expected_cd", k, place.rbm(rbm), place.put(rows[None].astype(np.float64)))
    # Each of the 2 k half steps multiplies probabilities of all units, whose activations are rounded.
    return Measured(np.abs(found - _expectation_after(rbm, rows, k)).max(), 2 * k * _rounding(rbm))


def sampled_cd(place: Place) -> Measured:
    """Compare the second term of CD-1, averaged over many chains, with its expectation: Hoeffding's inequality."""
    rbm, rows, repeats = _random_rbm(7, 5).astype(np.float32), _random_rows(13, 7), 7919
    batch = place.put(np.tile(rows, (repeats, 1))[None].astype(np.float32))
    found = _second_term("cd", 1, place.rbm(rbm, np.float32), batch)
    expected, chains = _expectation_after(rbm.astype(np.float64), rows, 1), repeats * len(rows)
    return Measured(np.abs(found - expected).max(), np.sqrt(np.log(2 * found.size / ERROR_RATE) / (2 * chains)))


def stationarity(place: Place) -> Measured:
    """Start Gibbs chains from p(h); compare their distribution after four steps with p(v), in total variation.

    For N samples E TV <= sum_v sqrt(p (1 - p) / N) / 2, and one sample changes TV by at most 1 / N: by McDiarmid's
    inequality TV exceeds that by t with probability at most exp(-2 N t^2).
    """
    rbm, chains = _random_rbm(5, 3, 1.5), 100_003
    p = visible_distribution(rbm)[0]
    p_h = visible_distribution(RBM(rbm.W.swapaxes(-1, -2), rbm.c, rbm.b))[0]
    start = np.random.default_rng(3).choice(len(p_h), size=chains, p=p_h)
    hidden = place.put(np.ascontiguousarray(all_states(3, rbm.W)[:, start].astype(np.float32)))
    samples = place.put(np.empty((1, chains, 1, 5), np.uint8))
    create("gibbs", k=4).draw(place.rbm(rbm, np.float32), {"hidden": hidden}, Stream(4, [0]), samples)
    found = empirical_distribution(on_host(samples)[0, :, 0])
    expected = 0.5 * np.sqrt(p * (1 - p) / chains).sum()
    return Measured(total_variation(found, p), expected + np.sqrt(np.log(1 / ERROR_RATE) / (2 * chains)))


def annealing(place: Place) -> Measured:
    """Compare log Z by AIS with the exact one: at most five standard errors, and 0.1 nats."""
    rbm = _random_rbm(11, 5).astype(np.float32)
    found = ais_log_partition(place.rbm(rbm, np.float32), particles=500, temperatures=300)
    error = np.abs(found.log_partition[0] - _joint_log_partition(rbm))
    return Measured(error, min(0.1, 5 * float(found.standard_error[0])))


def same_training(place: Place) -> Measured:
    """Train here and on the reference kernels with the same random numbers; compare parameters.

    The bound lies between rounding and the effect of one differing sample, rate / batch.
    """
    rows, rate, batch, errors = _random_rows(23, 7), 0.1, 6, []
    backend = "cupy" if place.kernels == "cupy" else "numpy"
    common = {"hidden": 5, "rate": rate, "batch": batch, "iterations": 37, "trials": 3, "precision": "float64"}
    for name, options in (("cd", {}), ("pcd", {}), ("pop_cd", {}), ("parallel_tempering", {"temperatures": 4})):
        common |= {"estimator": name, "options": options}
        ours = trainer.train(rows, backend=backend, **common).rbm
        with reference_kernels():
            theirs = trainer.train(rows, backend="numpy", **common).rbm
        errors += [np.abs(getattr(ours, part) - getattr(theirs, part)).max() for part in ("W", "b", "c")]
    return Measured(max(errors), 1e-6 * rate / batch)


CHECKS: dict[str, Callable[[Place], Measured]] = {
    "log Z by either layer's states, nats": log_partition,
    "gradient against differences": gradient,
    "expected CD-3 against the transition matrix": expected_cd,
    "sampled CD-1 against its expectation": sampled_cd,
    "Gibbs sampling stays in p(v), total variation": stationarity,
    "log Z by annealing, nats": annealing,
    "training as on the reference kernels": same_training,
}


def _random_rbm(m: int, n: int, scale: float = 1.0) -> RBM:
    """Return one RBM behind an axis of replicas with normal parameters, float64."""
    rng = np.random.default_rng(0)
    return RBM(*(rng.normal(0, scale, shape) for shape in ((1, m, n), (1, m), (1, n))))


def _random_rows(rows: int, m: int) -> np.ndarray:
    """Return rows of 0 and 1, uint8 (rows, m)."""
    return (np.random.default_rng(1).random((rows, m)) < np.linspace(0.2, 0.8, m)).astype(np.uint8)


def _rounding(rbm: RBM) -> float:
    """Return the bound in nats on rounding errors of energies and of logarithms of sums of their exponentials."""
    parameters = np.concatenate([p.ravel() for p in (rbm.W, rbm.b, rbm.c)]).astype(np.float64)
    return ROUNDING * EPS * parameters.size * np.abs(parameters).sum()


def _joint_log_partition(rbm: RBM) -> float:
    """Return log Z in nats as the sum over all (v, h)."""
    rbm = rbm.astype(np.float64)
    v, h = all_states(rbm.visible_units, rbm.W), all_states(rbm.hidden_units, rbm.W)
    return logsumexp(-rbm.energy(np.repeat(v, h.shape[1], axis=1), np.tile(h, (1, v.shape[1], 1))))


def _expectation_after(rbm: RBM, rows: np.ndarray, k: int) -> np.ndarray:
    """Return E f(v) of Gibbs chains k steps after rows (rows, m), by the transition matrix: (1, mn + m + n)."""
    states, hidden_states = all_states(rbm.visible_units, rbm.W), all_states(rbm.hidden_units, rbm.W)
    mean = rbm.hidden_mean(states)
    step = Conditional(mean).table() @ Conditional(rbm.visible_mean(hidden_states)).table()
    weights = empirical_distribution(rows) @ np.linalg.matrix_power(step[0], k)
    return population_statistics(Population(states, mean, weights[None]), Buffers(), "states").flat()


def _second_term(name: str, k: int, rbm: RBM, batch: Any) -> np.ndarray:
    """Return the second term of an estimator's gradient, float64 (1, mn + m + n), in host memory."""
    estimator, stream = estimators.REGISTRY.create(name, {"k": k}), Stream(2, [0])
    estimate = estimator.estimate(rbm, batch, estimator.start(rbm, batch[0], batch.shape[1], stream), stream)
    sums = estimator.negative_sums(estimate)
    return sums.scale * on_host(sums.sums.flat()).astype(np.float64)
