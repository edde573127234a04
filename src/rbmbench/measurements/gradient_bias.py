# SPDX-License-Identifier: BSD-3-Clause
"""Bias and variance of gradient estimates, each from one mini-batch: positive minus negative phase.

    bias     = || mean of the estimates - ground truth ||^2 / P,
    variance = mean of || estimate - mean of the estimates ||^2 / P,      P = m n + m + n parameters.

The mini-batch contributes to both phases. The chains of CD stay near their rows, so that the contributions partly
cancel; the negative phase of pop-CD hardly depends on the rows, so that the variance of the positive phase remains. The
variance of the negative phase alone is reported as well; its bias is the same, since the positive phase has none.

With N estimates and an estimated ground truth, the measured bias has a positive floor even without a bias. The debiased
value is the bias minus this floor, with its interval.

Source: Krause, Fischer, Igel, section 4.1, third experiment, and their table of biases and variances.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy  # scipy.special is imported at its first use
from threadpoolctl import threadpool_limits

from rbmbench import estimators
from rbmbench.base.errors import SettingsError
from rbmbench.base.metrics import TAILS
from rbmbench.base.settings import EstimateSettings, GroundTruthSettings
from rbmbench.base.streams import Purpose, Stream
from rbmbench.kernels import kernels_for, on_host
from rbmbench.likelihood import data_statistics, exact_model_statistics
from rbmbench.model.gibbs import Buffers, PhaseSums, Population, hidden_mean, population_statistics
from rbmbench.model.minibatches import MiniBatches, random_rows
from rbmbench.model.rbm import RBM, check_replicas
from rbmbench.model.rows import binary_rows
from rbmbench.samplers import ParallelTemperingSampler
from rbmbench.training.checkpoint import Checkpointer, State, identity

BLOCKS = 20
SWEEPS_AT_ONCE = 500


@dataclass(frozen=True)
class GroundTruth:
    """The model expectation that estimates are compared with.

    ``mean`` is float64 (trials, P) in the order W (row-major), b, c. ``blocks``, float64 (blocks, trials, P), holds the
    means of successive blocks of samples, for the error of the mean; it is empty if the mean is exact.
    """

    mean: np.ndarray
    blocks: np.ndarray

    @property
    def floor(self) -> np.ndarray:
        """Estimated squared error of the mean per parameter, (trials,)."""
        if len(self.blocks) == 0:
            return np.zeros(len(self.mean))
        return self.blocks.var(axis=0, ddof=1).mean(axis=-1) / len(self.blocks)

    def variance_along(self, direction: np.ndarray) -> np.ndarray:
        """Return the estimated variance of mean . direction for a direction (trials, P): (trials,)."""
        if len(self.blocks) == 0:
            return np.zeros(len(self.mean))
        return np.einsum("btp,tp->bt", self.blocks, direction).var(axis=0, ddof=1) / len(self.blocks)


def ground_truth(
    rbm: RBM,
    data: np.ndarray,
    settings: GroundTruthSettings,
    progress=None,
    checkpointer: Checkpointer | None = None,
    chosen: slice = slice(None),
) -> GroundTruth:
    """Compute the model expectation of every RBM, exactly or by parallel tempering.

    The RBM has one leading axis of replicas (the trained trials); ``data`` (rows, m), 0 and 1, are training rows, where
    tempered chains start. ``progress`` is called as progress(finished sweeps, all sweeps). Checkpoints are written
    between replicas or portions of sweeps. ``chosen`` are the replicas that are computed, by default all; they have the
    same random numbers as among all. Raises a `DataError` for other data, a `SettingsError` if the method is
    "exact" and neither layer can be enumerated.
    """
    check_replicas(rbm)
    data, checkpointer = binary_rows(data, "training data", rbm.visible_units), checkpointer or Checkpointer()
    trials, rbm = np.arange(len(rbm.W))[chosen], rbm[chosen]
    saved = checkpointer.resume(identity(settings, rbm.on_host().parameters._asdict() | {"train": data}))
    if settings.method == "exact":
        means = saved["means"] if saved else np.zeros((len(rbm.W), sum(array[0].size for array in rbm.parameters)))
        for r in checkpointer.pieces(range(len(rbm.W)), lambda: {"means": means}):
            means[r] = on_host(exact_model_statistics(rbm[r : r + 1]).flat())[0]
        return GroundTruth(means, np.empty((0, *means.shape)))
    with threadpool_limits(1):
        rows = np.asarray(data, like=rbm.W)
        return _tempered_ground_truth(rbm, trials, rows, settings, progress, checkpointer, saved)


def _tempered_ground_truth(rbm, trials, data, settings, progress, checkpointer: Checkpointer, saved) -> GroundTruth:
    """Average f(v) over one sample per sweep of one set of tempered chains, after the burn-in."""
    replicas, m = rbm.b.shape
    sampler, buffers = ParallelTemperingSampler(settings.chains), Buffers()
    stream = Stream(settings.seed, trials, Purpose.GROUND_TRUTH)
    visible = random_rows(data, settings.chains, rbm.W, stream)[:, None]

    def sweep(count: int):
        samples = buffers.get(("samples", count), (replicas, 1, count, m), rbm.W)
        sampler.sweep(rbm, visible, stream, samples)
        if progress:
            progress(stream.number - 1, settings.burn_in + settings.samples)
        return samples[:, 0]

    sizes = _equal_parts(settings.samples)
    totals = np.zeros((len(sizes), replicas, sum(parameter[0].size for parameter in rbm.parameters)))
    if saved:
        visible[...], totals[...] = np.asarray(saved["visible"], like=rbm.W), saved["totals"]
        stream.number = saved["draw"]

    def state() -> State:
        return {"visible": on_host(visible), "totals": totals, "draw": stream.number}

    portions = [(None, count) for count in _portions(settings.burn_in)]
    portions += [(block, count) for block, size in enumerate(sizes) for count in _portions(size)]
    for block, count in checkpointer.pieces(portions, state):
        samples = sweep(count)
        if block is not None:
            population = Population(samples, hidden_mean(rbm, samples, buffers, ("mean", count)))
            statistics = on_host(population_statistics(population, buffers, count).flat())
            totals[block] += count * statistics.astype(np.float64)
    return GroundTruth(sum(totals) / settings.samples, totals / np.array(sizes)[:, None, None])


def _portions(count: int) -> list[int]:
    """Divide a number of sweeps into portions whose samples fit in the cache."""
    whole, remainder = divmod(count, SWEEPS_AT_ONCE)
    return [SWEEPS_AT_ONCE] * whole + [remainder] * (remainder > 0)


def _equal_parts(count: int) -> list[int]:
    parts = min(BLOCKS, count)
    return [count // parts + (number < count % parts) for number in range(parts)]


def _whole_epochs(estimates: int, per_epoch: int) -> list[int]:
    """Divide a number of estimates into blocks of whole epochs; the remainder is added to the last block.

    An epoch uses each row once, so estimates are dependent within an epoch, but not between epochs.
    """
    epochs = estimates // per_epoch
    if epochs < 3:
        return _equal_parts(estimates)
    sizes = [per_epoch * share for share in _equal_parts(epochs)]
    sizes[-1] += estimates - sum(sizes)
    return sizes


class _Moments:
    """Streaming float64 moments of estimates minus a reference, in blocks of these sizes, in arrays like ``like``.

    An estimate is the negative phase, or that minus the positive phase plus the ``positive`` phase of all rows.
    """

    def __init__(
        self, reference: np.ndarray, sizes: list[int], saved: dict[str, np.ndarray] | None, like, positive=0.0
    ):
        saved = saved or {"squares": np.zeros(len(reference)), "sums": np.zeros((len(sizes), *reference.shape))}
        self.reference, self.sizes = reference, sizes
        self.offset = np.array(reference - positive, like=like)
        self.squares, self.sums = (np.array(saved[name], like=like) for name in ("squares", "sums"))

    def add(self, block: int, negative: PhaseSums, positive: PhaseSums | None = None) -> None:
        second, scale = (positive.sums.flat(), positive.scale) if positive else (None, 0.0)
        kernels_for(self.offset).add_deviations(
            negative.sums.flat(), negative.scale, second, scale, self.offset, self.sums[block], self.squares
        )

    def state(self) -> dict[str, np.ndarray]:
        return {"squares": on_host(self.squares), "sums": on_host(self.sums)}

    def place(self, trials: np.ndarray) -> None:
        """Take the moments of these trials in place of all."""
        self.reference, self.squares = self.reference[trials], self.squares[trials]
        self.sums = self.sums.take(trials, axis=1)

    def summary(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the mean, the block means, and the variance per parameter of an estimate and of the mean.

        Shapes (trials, P), (blocks, trials, P), (trials,), (trials,). The variance of the mean is estimated from the
        block means, since estimates within a block may be dependent.
        """
        count, sizes = sum(self.sizes), np.array(self.sizes)[:, None]
        squares, sums = on_host(self.squares), on_host(self.sums)
        mean = sum(sums) / count
        blocks = sums / sizes[..., None]
        variance = (squares / count - np.einsum("tp,tp->t", mean, mean)) / mean.shape[1]
        distances = sizes * ((blocks - mean) ** 2).mean(axis=-1)
        # Sum along rows: along the first axis, NumPy's order of additions would depend on the number of trials.
        mean_variance = np.ascontiguousarray(distances.T).sum(axis=1) / max(1, len(sizes) - 1) / count
        return self.reference + mean, self.reference + blocks, variance, mean_variance


def measure(
    rbm: RBM,
    data: np.ndarray,
    settings: EstimateSettings,
    ground_truths: dict[str, GroundTruth],
    progress=None,
    checkpointer: Checkpointer | None = None,
    chosen: slice = slice(None),
) -> pd.DataFrame:
    """Make gradient estimates, and compare their mean and spread with ground truths.

    The RBM has one leading axis of replicas (the trained trials); ``data`` (rows, m) is 0 and 1. Ground truths have the
    names "exact", "parallel_tempering". ``progress`` is called as progress(finished estimates, all estimates).
    Checkpoints are written between estimates. ``chosen`` are the replicas that are measured, by default all; ground
    truths are those of all.

    Returns
    -------
    DataFrame
        Tidy: trial, ground_truth, quantity, value, with the quantities variance, variance_negative_phase, bias,
        bias_floor, bias_debiased, bias_low, bias_high (interval of the debiased bias), all per parameter, and
        seconds_per_estimate for one trial.

    Raises
    ------
    DataError
        If the data are not rows of 0 and 1, as wide as the models.
    SettingsError
        If the batch is larger than the data, the estimator or an option is unknown, or there are no ground truths.
    """
    check_replicas(rbm)
    data, checkpointer = binary_rows(data, "training data", rbm.visible_units), checkpointer or Checkpointer()
    if not ground_truths:
        raise SettingsError("ground_truths: must be at least one, got none")
    replicas = len(rbm.W)
    trials, rbm = np.arange(replicas)[chosen], rbm[chosen]
    contents = rbm.on_host().parameters._asdict() | {"train": data}
    for name, truth in ground_truths.items():
        contents |= {f"{name} {array_name}": array for array_name, array in vars(truth).items()}
    saved = checkpointer.resume(identity(settings, contents))
    data = np.asarray(data, like=rbm.W)
    with threadpool_limits(1):
        reference = next(iter(ground_truths.values())).mean[chosen]
        gradients, negatives = _estimate_moments(rbm, trials, data, settings, reference, progress, checkpointer, saved)
    seconds = checkpointer.spent()[0] / (settings.estimates * len(rbm.W))
    if len(trials) < replicas:
        # The order of NumPy's additions depends on the number of trials, so each trial keeps its place among all.
        places = np.clip(np.arange(replicas) - trials[0], 0, len(trials) - 1)
        gradients.place(places)
        negatives.place(places)
    mean, blocks, variance, mean_variance = gradients.summary()
    negative_variance = negatives.summary()[2]
    rows = []
    for name, truth in ground_truths.items():
        quantities = {"variance": variance, "variance_negative_phase": negative_variance}
        quantities |= _bias(mean, blocks, mean_variance, truth) | {"seconds_per_estimate": np.full(len(mean), seconds)}
        for quantity, values in quantities.items():
            rows += [(trial, name, quantity, float(values[trial])) for trial in trials.tolist()]
    return pd.DataFrame(rows, columns=["trial", "ground_truth", "quantity", "value"])


def _estimate_moments(
    rbm, trials, data, settings, reference, progress, checkpointer: Checkpointer, saved: State | None
) -> tuple[_Moments, _Moments]:
    """Make all estimates, each from its own mini-batch; return the moments of gradients and of negative phases.

    A gradient is converted to an estimate of the model expectation by the positive phase of all rows.
    """
    estimator = estimators.REGISTRY.create(settings.estimator.name, settings.estimator.options)
    batches = MiniBatches(data, settings.batch, settings.seed, trials, rbm.W.dtype)
    stream = Stream(settings.seed, trials, Purpose.TRAINING)
    state, saved = estimator.start(rbm, data, settings.batch, stream), saved or {}
    if saved:
        stream.number = saved["draw"]
        state = {name: np.array(array, like=rbm.W) for name, array in saved["state"].items()}
    positive_phase = on_host(data_statistics(rbm, data).flat())
    sizes = _whole_epochs(settings.estimates, batches.per_epoch)
    ends = set(np.cumsum(sizes).tolist())
    gradients = _Moments(reference, sizes, saved.get("gradients"), rbm.W, positive_phase)
    negatives = _Moments(reference, [settings.estimates], saved.get("negatives"), rbm.W)

    def current() -> State:
        moments = {"gradients": gradients.state(), "negatives": negatives.state()}
        return moments | {"state": {name: on_host(array) for name, array in state.items()}, "draw": stream.number}

    pieces = list(enumerate(np.repeat(np.arange(len(sizes)), sizes).tolist()))
    for iteration, block in checkpointer.pieces(pieces, current):
        estimate = estimator.estimate(rbm, batches.at(iteration), state, stream)
        state = estimate.state
        positive, negative = estimator.phase_sums(estimate)
        negatives.add(0, negative)
        gradients.add(block, negative, positive)
        if progress and iteration + 1 in ends:
            progress(iteration + 1, settings.estimates)
    return gradients, negatives


def _bias(mean, blocks, variance_of_mean, truth: GroundTruth) -> dict[str, np.ndarray]:
    """Return the raw bias, its floor, the debiased bias and its interval, each (trials,)."""
    parameters = mean.shape[1]
    difference = mean - truth.mean
    raw = np.einsum("tp,tp->t", difference, difference) / parameters
    floor = variance_of_mean + truth.floor
    error = np.sqrt(_jackknife_variance(blocks - truth.mean) + 4 * truth.variance_along(difference) / parameters**2)
    half_width = scipy.special.stdtrit(max(1, len(blocks) - 1), TAILS[1]) * error
    debiased = raw - floor
    ends = {"bias_low": debiased - half_width, "bias_high": debiased + half_width}
    return {"bias": raw, "bias_floor": floor, "bias_debiased": debiased} | ends


def _jackknife_variance(blocks: np.ndarray) -> np.ndarray:
    """Return the jackknife variance of the debiased squared norm per parameter of the mean over blocks, (trials,).

    The debiased squared norm is || mean ||^2 - tr(cov) / blocks, the mean of x_i . x_j over pairs of different blocks.
    """
    count, _, parameters = blocks.shape
    if count < 3:
        return np.full(blocks.shape[1], np.inf)
    products = np.stack([trial_blocks @ trial_blocks.T for trial_blocks in np.ascontiguousarray(blocks.swapaxes(0, 1))])
    products[:, np.arange(count), np.arange(count)] = 0
    total = products.sum(axis=(1, 2))
    left_out = (total[:, None] - 2 * products.sum(axis=2)) / ((count - 1) * (count - 2)) / parameters
    return (count - 1) / count * ((left_out - left_out.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
