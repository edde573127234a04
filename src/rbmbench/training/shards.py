"""Shards: some trials of a run that advance together, by themselves, from one pause to the next.

A shard is of a size that stays in the cache; neither the size nor the other shards change a result.
"""

import numpy as np

from rbmbench import estimators, updates
from rbmbench.base.errors import TrainingError
from rbmbench.base.settings import RunSettings
from rbmbench.base.streams import Purpose, Stream
from rbmbench.kernels import is_host_array, on_host
from rbmbench.model.minibatches import MiniBatches
from rbmbench.model.rbm import RBM
from rbmbench.training import fused
from rbmbench.training.fused import FusedIterations

__all__ = ["SHARD_BYTES", "Shard", "make_shards"]

SHARD_BYTES = 2**22


class Shard:
    """Some trials of a run: parameters (views of the run's), estimator's state, update rule's memory, random stream.

    ``sums`` of the estimator's diagnostics, a number a trial, grow until their means are asked for.
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
        """Make the parts of a stage; start the estimator's state and the rule's memory unless they were restored."""
        if stage is self._stage:
            return
        self._stage = stage
        self.estimator = estimators.REGISTRY.create(stage.estimator.name, stage.estimator.options)
        self.update = updates.REGISTRY.create(stage.update.name, stage.update.options)
        self.update.check(self.estimator)
        forbidden = fused.unsupported_reason(self.rbm, self.estimator, self.update, self._settings.batch)
        self._fused = None if forbidden else FusedIterations(self.rbm, self.estimator, self.update, self.batches)
        self.ways[stage.estimator.name] = f"one by one: {forbidden}" if forbidden else "many a launch"
        if start:
            self.state = self.estimator.start(self.rbm, self._data, self._settings.batch, self.stream)
            self.memory = self.update.start(self.rbm, self._data)

    def advance(self, first: int, last: int) -> None:
        """Make the iterations first to last - 1."""
        # Numbers that overflow are looked for and reported by trial; NumPy's warnings would only come before that.
        with np.errstate(all="ignore"):
            self._many(first, last) if self._fused else self._one_by_one(first, last)

    def means(self, iterations: int) -> dict[str, np.ndarray]:
        """Return the means of the diagnostics over so many iterations, one value a trial, and begin new sums."""
        with np.errstate(all="ignore"):
            means = {name: on_host(total / iterations) for name, total in self.sums.items()}
        self.sums = {}
        return means

    def _many(self, first: int, last: int) -> None:
        not_finite = self._fused.advance(first, last, self.state, self.stream, self._stage.rate, self.sums)
        if not_finite.any():
            iteration = not_finite[not_finite > 0].min()
            raise self._not_finite(np.argmax(not_finite == iteration), iteration)

    def _one_by_one(self, first: int, last: int) -> None:
        looks = is_host_array(self.rbm.W)
        for iteration in range(first, last):
            batch = self.batches.at(iteration)
            parts = self.estimator, batch, self.state, self.stream, self._stage.rate, self.memory
            estimate = self.update.step(self.rbm, *parts)
            self.state = estimate.state
            for name, values in estimate.diagnostics.items():
                self.sums[name] = self.sums.get(name, 0.0) + values
            # A look at every iteration, where it is cheap; sums may overflow before the parameters do, so it proves
            # nothing yet.
            if looks and not np.isfinite(self.rbm.c.sum() + self.rbm.b.sum()):
                self._check_finite(iteration + 1)
        self._check_finite(last)

    def _check_finite(self, iteration: int) -> None:
        parameters = (p.reshape(len(p), -1) for p in (self.rbm.W, self.rbm.b, self.rbm.c))
        finite = np.all([on_host(np.isfinite(p).all(axis=-1)) for p in parameters], axis=0)
        if not finite.all():
            raise self._not_finite(finite.argmin(), iteration)

    def _not_finite(self, replica, iteration) -> TrainingError:
        return TrainingError(
            f"trial {self.trials[replica]}: parameters are not finite at iteration {iteration}; "
            f"found learning rate {self._stage.rate}, allowed: a smaller one"
        )


def make_shards(rbm: RBM, data, settings: RunSettings, threads: int) -> list[Shard]:
    """Cut the trials so that a shard's states stay in the cache, if any, and every thread has one."""
    m, n = data.shape[1], settings.hidden
    bytes_a_trial = 3 * settings.most_rows * (m + n) * rbm.W.itemsize
    size = settings.trials
    if is_host_array(rbm.W):
        size = max(1, min(SHARD_BYTES // bytes_a_trial, -(-settings.trials // threads)))
    trials = np.arange(settings.first_trial, settings.first_trial + settings.trials)
    cuts = [slice(start, min(start + size, settings.trials)) for start in range(0, settings.trials, size)]
    return [Shard(rbm[cut], data, settings, trials[cut]) for cut in cuts]
