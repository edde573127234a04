"""What the kernels of a place must get right on small RBMs: each against a sum over all states, or the reference.

Oracles are formulas of `rbmbench.model.rbm` in NumPy, which call no kernel. Bounds are of two kinds. Rounding: a sum of
q terms is off by at most about q eps times the sum of their absolute values. Chance: `ERROR_RATE` is how often a check
that should hold would fail, were its seed another; the seeds are fixed, so that a check always says the same.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

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

__all__ = ["CHECKS", "Measured", "Place", "random_rbm"]

ERROR_RATE = 1e-6
EPS = np.finfo(np.float64).eps
ROUNDING = 8  # what a term costs, in eps: products, exp and log are each good to one or two


class Place(NamedTuple):
    """Where checks are made: the kernels' name, what chooses them, the backend of runs, what puts an array there."""

    kernels: str
    chosen: Callable[[], AbstractContextManager]
    backend: str
    put: Callable[[np.ndarray], Any]


class Measured(NamedTuple):
    """What a check has measured, and the most that it may be."""

    value: float
    bound: float


def random_rbm(m: int, n: int, scale: float = 1.0) -> RBM:
    """Return one RBM behind an axis of replicas with normal parameters, float64."""
    rng = np.random.default_rng(0)
    return RBM(*(rng.normal(0, scale, shape) for shape in ((1, m, n), (1, m), (1, n))))


def random_rows(rows: int, m: int) -> np.ndarray:
    """Return rows of 0 and 1, uint8 (rows, m)."""
    return (np.random.default_rng(1).random((rows, m)) < np.linspace(0.2, 0.8, m)).astype(np.uint8)


def there(rbm: RBM, place: Place, dtype=np.float64) -> RBM:
    """Return an RBM with parameters of a type at a place."""
    return RBM(*(place.put(p.astype(dtype)) for p in (rbm.W, rbm.b, rbm.c)))


def rounding(rbm: RBM) -> float:
    """Return the most that energies, and logarithms of sums of their exponentials, are off by rounding: nats."""
    parameters = np.concatenate([p.ravel() for p in (rbm.W, rbm.b, rbm.c)]).astype(np.float64)
    return ROUNDING * EPS * parameters.size * np.abs(parameters).sum()


def log_sum_exp(x: np.ndarray) -> float:
    """Return log sum exp x, float64."""
    return float(np.logaddexp.reduce(np.asarray(x, np.float64), axis=None))


def log_partition_of_joint_states(rbm: RBM) -> float:
    """Return log Z as the sum over all (v, h), in nats."""
    rbm = rbm.astype(np.float64)
    v, h = all_states(rbm.visible_units, rbm.W), all_states(rbm.hidden_units, rbm.W)
    return log_sum_exp(-rbm.energy(np.repeat(v, h.shape[1], axis=1), np.tile(h, (1, v.shape[1], 1))))


def expectation_after(rbm: RBM, rows: np.ndarray, k: int) -> np.ndarray:
    """Return sum_v p_k(v) f(v), p_k the distribution of chains k Gibbs steps after rows (rows, m): (1, mn + m + n)."""
    states, of_hidden = all_states(rbm.visible_units, rbm.W), all_states(rbm.hidden_units, rbm.W)
    mean = rbm.hidden_mean(states)
    step = Conditional(mean).table() @ Conditional(rbm.visible_mean(of_hidden)).table()
    weights = empirical_distribution(rows) @ np.linalg.matrix_power(step[0], k)
    return population_statistics(Population(states, mean, weights[None]), Buffers(), "states").flat()


def log_partition(place: Place) -> Measured:
    """Sum over the states of either layer, and compare with the sum over those of both."""
    rbm = random_rbm(11, 5)
    ours = there(rbm, place)
    W, b, c = ours.W[0], ours.b[0], ours.c[0]
    transposed = place.put(np.ascontiguousarray(rbm.W[0].T))
    weigh = kernels_for(W).hidden_log_weights
    sums = [log_sum_exp(on_host(weigh(*parts))) for parts in ((W, b, c), (transposed, c, b))]
    found = [*sums, float(exact_log_partition(ours)[0])]
    return Measured(np.abs(np.array(found) - log_partition_of_joint_states(rbm)).max(), rounding(rbm))


def gradient(place: Place) -> Measured:
    """Compare the exact gradient with central differences of the log-likelihood.

    The third derivative for a parameter is that of log Z less the rows': third cumulants of variables of 0 and 1, each
    at most 1 / (6 sqrt 3).
    """
    rbm, rows, step = random_rbm(7, 5), place.put(random_rows(13, 7)), 1e-3
    flat = np.concatenate([p.ravel() for p in (rbm.W, rbm.b, rbm.c)])
    moved = flat + step * np.concatenate([np.eye(len(flat)), -np.eye(len(flat))])
    W, b, c = np.split(moved, [35, 42], axis=1)
    neighbours = there(RBM(W.reshape(-1, 7, 5), b, c), place)
    up, down = np.split(log_likelihood(neighbours, rows, exact_log_partition(neighbours)), 2)
    found = on_host(exact_gradient(there(rbm, place), rows).flat())[0]
    truncation = step**2 / 6 * 2 / (6 * np.sqrt(3))
    return Measured(np.abs((up - down) / (2 * step) - found).max(), truncation + 2 * rounding(rbm) / step)


def expected_cd(place: Place) -> Measured:
    """Compare expected CD-3's second term with that of the transition matrix, whose products are not split."""
    rbm, rows, k = random_rbm(7, 5), random_rows(13, 7), 3
    ours, batch = there(rbm, place), place.put(rows[None].astype(np.float64))
    estimator = estimators.REGISTRY.create("expected_cd", {"k": k})
    found = negative_statistics(estimator, ours, batch)
    # Each of the 2 k half steps multiplies probabilities of all units, whose activations are rounded.
    return Measured(np.abs(found - expectation_after(rbm, rows, k)).max(), 2 * k * rounding(rbm))


def sampled_cd(place: Place) -> Measured:
    """Compare CD-1's second term, averaged over many chains, with its expectation: Hoeffding's bound of all entries.

    After one step the chains have forgotten least of how they were sampled.
    """
    rbm, rows, k, repeats = random_rbm(7, 5).astype(np.float32), random_rows(13, 7), 1, 7919
    batch = place.put(np.tile(rows, (repeats, 1))[None].astype(np.float32))
    found = negative_statistics(estimators.REGISTRY.create("cd", {"k": k}), there(rbm, place, np.float32), batch)
    expected = expectation_after(rbm.astype(np.float64), rows, k)
    chains = repeats * len(rows)
    return Measured(np.abs(found - expected).max(), np.sqrt(np.log(2 * found.size / ERROR_RATE) / (2 * chains)))


def negative_statistics(estimator, rbm: RBM, batch) -> np.ndarray:
    """Return the second term of an estimator's gradient, float64 (1, mn + m + n), in host memory."""
    stream = Stream(2, [0])
    estimate = estimator.estimate(rbm, batch, estimator.start(rbm, batch[0], batch.shape[1], stream), stream)
    sums = estimator.negative_sums(estimate)
    return sums.scale * on_host(sums.sums.flat()).astype(np.float64)


def stationarity(place: Place) -> Measured:
    """Start Gibbs chains in the model's distribution; hold theirs after four steps against it, in total variation.

    For N samples E TV <= sum_v sqrt(p (1 - p) / N) / 2, and one sample moves TV by at most 1 / N: by McDiarmid's
    inequality TV exceeds that by t with probability at most exp(-2 N t^2).
    """
    rbm, chains, steps = random_rbm(5, 3, 1.5), 100_003, 4
    p = visible_distribution(rbm)[0]
    p_h = visible_distribution(RBM(rbm.W.swapaxes(-1, -2), rbm.c, rbm.b))[0]
    start = np.random.default_rng(3).choice(len(p_h), size=chains, p=p_h)
    hidden = place.put(np.ascontiguousarray(all_states(3, rbm.W)[:, start].astype(np.float32)))
    samples = place.put(np.empty((1, chains, 1, 5), np.uint8))
    create("gibbs", k=steps).draw(there(rbm, place, np.float32), {"hidden": hidden}, Stream(4, [0]), samples)
    found = empirical_distribution(on_host(samples)[0, :, 0])
    expected = 0.5 * np.sqrt(p * (1 - p) / chains).sum()
    return Measured(float(total_variation(found, p)), expected + np.sqrt(np.log(1 / ERROR_RATE) / (2 * chains)))


def annealing(place: Place) -> Measured:
    """Compare log Z by annealing with the exact one: five standard errors, and never more than 0.1 nats."""
    rbm = random_rbm(11, 5).astype(np.float32)
    found = ais_log_partition(there(rbm, place, np.float32), particles=500, temperatures=300)
    off = np.abs(found.log_partition[0] - log_partition_of_joint_states(rbm))
    return Measured(float(off), min(0.1, 5 * float(found.standard_error[0])))


def same_training(place: Place) -> Measured:
    """Train by several estimators here and on the reference kernels, from the same uniforms; compare parameters.

    One unit that is sampled otherwise changes a parameter by rate / batch, rounding by a few eps: the bound lies
    between.
    """
    rows, rate, batch, furthest = random_rows(23, 7), 0.1, 6, 0.0
    common = {"hidden": 5, "rate": rate, "batch": batch, "iterations": 37, "trials": 3, "precision": "float64"}
    for name, options in (("cd", {}), ("pcd", {}), ("pop_cd", {}), ("parallel_tempering", {"temperatures": 4})):
        ours = trainer.train(rows, estimator=name, options=options, backend=place.backend, **common).rbm
        with reference_kernels():
            theirs = trainer.train(rows, estimator=name, options=options, backend="numpy", **common).rbm
        differences = [np.abs(x - y).max() for x, y in zip(parameters(ours), parameters(theirs), strict=True)]
        furthest = max(furthest, *differences)
    return Measured(float(furthest), 1e-6 * rate / batch)


def parameters(rbm: RBM) -> tuple[Any, Any, Any]:
    """Return W, b and c."""
    return rbm.W, rbm.b, rbm.c


CHECKS: dict[str, Callable[[Place], Measured]] = {
    "log Z by either layer's states, nats": log_partition,
    "gradient against differences": gradient,
    "expected CD-3 against the transition matrix": expected_cd,
    "sampled CD-1 against its expectation": sampled_cd,
    "Gibbs sampling stays in p(v), total variation": stationarity,
    "log Z by annealing, nats": annealing,
    "training as on the reference kernels": same_training,
}
"""By what the user reads."""
