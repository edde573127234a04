# SPDX-License-Identifier: BSD-3-Clause
"""Shards: groups of trials of a run that are trained together, small enough to stay in the cache.

Results do not depend on the size of shards.
"""

import numpy as np

from rbmbench import estimators, updates
from rbmbench.base.errors import TrainingError
from rbmbench.base.metrics import is_largest
from rbmbench.base.settings import RunSettings
from rbmbench.base.streams import Purpose, Stream
from rbmbench.kernels import is_host_array, on_host
from rbmbench.model.minibatches import MiniBatches
from rbmbench.model.rbm import RBM, energies_fit
from rbmbench.training import fused
from rbmbench.training.fused import FusedIterations

SHARD_BYTES = 2**22


class Shard:
    """Some trials of a run: parameters (views), state of the estimator, memory of the update rule, random stream.

    ``sums`` are the sums of the diagnostics, (trials,), since the last evaluation, or their largest values.
    """

    def __init__(self, rbm: RBM, data, settings: RunSettings, trials):
        self.rbm, self._data, self._settings = rbm, data, settings
        self.trials = trials
        self.batches = MiniBatches(data, settings.batch, settings.seed, trials, rbm.W.dtype)
        self.stream = Stream(settings.seed, trials, Purpose.TRAINING)
        self.state: dict[str, np.ndarray] = {}
        self.memory: dict[str, np.ndarray] = {}
        self.sums: dict[str, np.ndarray] = {}
        self._stage = None
        self.ways: dict[str, str] = {}

    def enter(self, stage, start: bool) -> None:
        """Create the estimator and the update rule of a stage; with ``start`` also their state and memory."""
        if stage is self._stage:
            return
        self._stage = stage
        self.estimator = estimators.REGISTRY.create(stage.estimator.name, stage.estimator.options)
        self.update = updates.REGISTRY.create(stage.update.name, stage.update.options)
        self.update.check(self.estimator)
        reason = fused.unsupported_reason(self.rbm, self.estimator, self.update, self._settings.batch)
        self._fused = None if reason else FusedIterations(self.rbm, self.estimator, self.batches)
        self.ways[stage.estimator.name] = f"one by one: {reason}" if reason else "fused"
        if start:
            self.state = self.estimator.start(self.rbm, self._data, self._settings.batch, self.stream)
            self.memory = self.update.start(self.rbm, self._data)

    def advance(self, first: int, last: int) -> None:
        """Make the iterations first to last - 1."""
        # Overflow is detected and reported with the trial, so NumPy's warnings are not needed.
        with np.errstate(all="ignore"):
            if self._fused:
                not_finite = self._fused.advance(first, last, self.state, self.stream, self._stage.rate, self.sums)
                if not_finite.any():
                    iteration = not_finite[not_finite > 0].min()
                    raise self._not_finite(np.argmax(not_finite == iteration), iteration)
                return
            checks_each = is_host_array(self.rbm.W)
            for iteration in range(first, last):
                batch = self.batches.at(iteration)
                parts = self.estimator, batch, self.state, self.stream, self._stage.rate, self.memory
                estimate = self.update.step(self.rbm, *parts)
                self.state = estimate.state
                for name, values in estimate.diagnostics.items():
                    before = self.sums.get(name, 0.0)
                    self.sums[name] = np.maximum(before, values) if is_largest(name) else before + values
                # A cheap test first; sums may overflow while the parameters are finite.
                if checks_each and not np.isfinite(self.rbm.c.sum() + self.rbm.b.sum()):
                    self._check_finite(iteration + 1)
            self._check_finite(last)

    def means(self, iterations: int) -> dict[str, np.ndarray]:
        """Return the means of the diagnostics over this number of iterations, (trials,), or their largest values."""
        with np.errstate(all="ignore"):
            return {n: on_host(s if is_largest(n) else s / iterations) for n, s in self.sums.items()}

    def _check_finite(self, iteration: int) -> None:
        parameters = (p.reshape(len(p), -1) for p in self.rbm.parameters)
        finite = np.all([on_host(np.isfinite(p).all(axis=-1)) for p in parameters], axis=0)
        if not finite.all():
            raise self._not_finite(finite.argmin(), iteration)

    def check_energies(self, iteration: int) -> None:
        """Raise a `TrainingError` if parameters are so large that energies and likelihoods would not be finite."""
        fit = energies_fit(self.rbm.parameters)
        if not fit.all():
            raise self._not_finite(fit.argmin(), iteration, "too large for finite energies")

    def _not_finite(self, replica, iteration, problem="not finite") -> TrainingError:
        return TrainingError(
            f"trial {self.trials[replica]}: parameters are {problem} at iteration {iteration}; "
            f"the learning rate must be smaller, got {self._stage.rate}"
        )


def trials_of_shard(rows: int, m: int, n: int, itemsize: int) -> int:
    """Return the number of trials whose states of this many rows fit in `SHARD_BYTES`, at least 1."""
    return max(1, SHARD_BYTES // (3 * rows * (m + n) * itemsize))


def make_shards(rbm: RBM, data, settings: RunSettings, threads: int) -> list[Shard]:
    """Divide the trials into shards that stay in the cache, at least one per thread; on a device, into one shard."""
    m, n = data.shape[1], settings.hidden
    size = settings.trials
    if is_host_array(rbm.W):
        size = min(trials_of_shard(settings.most_rows, m, n, rbm.W.itemsize), -(-settings.trials // threads))
    trials = np.arange(settings.first_trial, settings.first_trial + settings.trials)
    cuts = [slice(start, min(start + size, settings.trials)) for start in range(0, settings.trials, size)]
    return [Shard(rbm[cut], data, settings, trials[cut]) for cut in cuts]
