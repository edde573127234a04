"""Streams of samples of trained models, and their indirect sampling likelihood on the way.

Every setting of a sampler's grid samples every trained model, by one chain each; all that share the options which
replicas cannot differ in are sampled at once. Chains of one model start at the same rows and share random numbers,
whatever the sampler: differences are known better.

Source: Breuleux, Bengio, Vincent 2011, section 5.1.
"""

from collections.abc import Iterable, Iterator
from time import process_time
from typing import NamedTuple

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from rbmbench import samplers
from rbmbench.base.errors import DataError
from rbmbench.base.pace import Progress
from rbmbench.base.settings import SamplerGrid, SamplingSettings
from rbmbench.base.streams import Purpose, Stream
from rbmbench.datasets import Dataset
from rbmbench.kernels import is_host_array
from rbmbench.likelihood import IndirectSampling
from rbmbench.model.rbm import RBM
from rbmbench.training.shards import SHARD_BYTES

__all__ = ["TRAINING_SET", "Sampled", "log_grid", "sampled"]

TRAINING_SET = "training_set"
"""Stands in a sampler's place where the samples are the training rows."""
BLOCK = 500  # samples drawn at a time
COUNT_BYTES = 2**28  # what the counts of streams that are sampled at once may take
# As large as W, that samplers walk over for every sample: out of the cache they cost many times more.
ARRAYS_A_REPLICA = 3


class Sampled(NamedTuple):
    """What came of all streams.

    ``likelihoods`` has a line a sampler, setting, trial and number of samples: the mean log-likelihoods ``validation``
    and ``test`` (nats a row) at the ``flip`` 1 - beta that is best on the validation rows; trial -1 and setting 0 are
    the training rows themselves. ``shown`` holds the first samples of the first model by "SAMPLER-SETTING" (shown, m)
    as uint8, 0 to 255 where E(x|h) is known and 0 or 255 else; ``seconds`` the processor's seconds a sample of one
    chain, by sampler, one value a setting, None where there were too few samples to tell.
    """

    likelihoods: pd.DataFrame
    shown: dict[str, np.ndarray]
    seconds: dict[str, list[float | None]]


def log_grid(samples: int, points: int) -> list[int]:
    """Return numbers of samples from 1 to ``samples``, evenly spaced in logarithm where whole numbers allow it."""
    return sorted({int(number) for number in np.geomspace(1, samples, points).round()} | {samples})


def sampled(rbm: RBM, data: Dataset, settings: SamplingSettings, progress: Progress | None = None) -> Sampled:
    """Sample trained models by every setting of every sampler.

    Parameters
    ----------
    rbm : RBM
        With one leading axis of trials.
    data : Dataset
        With validation and test rows.
    settings : SamplingSettings
    progress : callable, optional
        Called as progress(streams done, streams).

    Raises
    ------
    DataError
        If there are no validation or no test rows.
    SettingsError
        If a sampler or one of its options is unknown, or its value is not allowed.
    """
    parts = {name: getattr(data, name)[: settings.rows] for name in ("validation", "test")}
    for name, rows in parts.items():
        if not len(rows):
            raise DataError(f"{data.name}: {name}: found no rows; allowed: a data set that has some")
    groups = [(name, *group) for name, grid in settings.samplers.items() for group in _groups(grid, len(rbm.W), parts)]
    lines, shown = [_training_set(data, parts)], {}
    seconds = {name: [None] * len(grid.settings) for name, grid in settings.samplers.items()}
    # As in training: matrix products stay on one thread.
    with threadpool_limits(1):
        for done, (name, part, places) in enumerate(groups):
            if progress:
                progress(done, len(groups))
            streams = _Streams(rbm, data, parts, settings, part)
            found = [frame for point in log_grid(settings.samples, settings.points) for frame in streams.until(point)]
            lines += [frame.assign(sampler=name, setting=places[r // len(rbm.W)]) for r, frame in found]
            shown |= {f"{name}-{place}": first for place, first in zip(places, streams.shown(), strict=True)}
            for place in places:
                seconds[name][place] = streams.seconds()
    if progress:
        progress(len(groups), len(groups))
    columns = ["sampler", "setting", "trial", "samples", "validation", "test", "flip"]
    return Sampled(pd.concat(lines, ignore_index=True)[columns], shown, seconds)


def _training_set(data: Dataset, parts: dict[str, np.ndarray]) -> pd.DataFrame:
    """Return the line of the training rows, taken for samples."""
    found = {name: IndirectSampling(rows) for name, rows in parts.items()}
    for counted in found.values():
        counted.add(data.train[None])
    ((_, line),) = _likelihoods(found, [-1])
    return line.assign(sampler=TRAINING_SET, setting=0)


def _likelihoods(found: dict[str, IndirectSampling], trials: Iterable[int]) -> Iterator[tuple[int, pd.DataFrame]]:
    """Yield every replica and its line at the number of samples so far."""
    flips = found["validation"].best_flips()
    values = {name: counted.log_likelihood(flips[:, None])[:, 0] for name, counted in found.items()}
    for r, trial in enumerate(trials):
        numbers = {name: value[r] for name, value in values.items()}
        yield r, pd.DataFrame({"trial": [trial], "samples": [found["test"].samples], **numbers, "flip": [flips[r]]})


def _groups(grid: SamplerGrid, trials: int, parts: dict[str, np.ndarray]) -> Iterator[tuple[SamplerGrid, list[int]]]:
    """Yield settings that are sampled at once, as a sampler with one list of values an option, and their places."""
    of_replica = samplers.REGISTRY.get(grid.name).of_replica
    alike: dict[str, list[int]] = {}
    for place, options in enumerate(grid.settings):
        shared = {name: value for name, value in options.items() if name not in of_replica}
        alike.setdefault(repr(sorted(shared.items())), []).append(place)
    bytes_each = 8 * trials * sum(len(rows) * (rows.shape[1] + 1) for rows in parts.values())
    together = max(1, COUNT_BYTES // bytes_each)
    for places in (p[first : first + together] for p in alike.values() for first in range(0, len(p), together)):
        chosen = [grid.settings[place] for place in places]
        own = {
            name: [options[name] for options in chosen for _ in range(trials)]
            for name in chosen[0]
            if name in of_replica
        }
        yield SamplerGrid(name=grid.name, options=chosen[0] | own), places


class _Shard(NamedTuple):
    """Replicas that are sampled together, which are ``cut`` out of all."""

    cut: slice
    rbm: RBM
    sampler: samplers.Sampler
    state: dict
    stream: Stream

    def draw(self, samples: np.ndarray, means: np.ndarray | None) -> None:
        """Draw the next samples of these replicas, given the place for those of all."""
        means = None if means is None else means[self.cut]
        self.sampler.draw(self.rbm, self.state, self.stream, samples[self.cut], means)


def _shards(rbm: RBM, data: np.ndarray, trials: list[int], seed: int, chosen: SamplerGrid) -> Iterator[_Shard]:
    """Yield the replicas in shards whose parameters stay in the cache; a device takes all at once."""
    replicas, of_replica = len(trials), samplers.REGISTRY.get(chosen.name).of_replica
    size = max(1, SHARD_BYTES // (ARRAYS_A_REPLICA * rbm.W[0].nbytes)) if is_host_array(rbm.W) else replicas
    for start in range(0, replicas, size):
        cut = slice(start, start + size)
        options = {name: value[cut] if name in of_replica else value for name, value in chosen.options.items()}
        sampler, stream = samplers.REGISTRY.create(chosen.name, options), Stream(seed, trials[cut], Purpose.SAMPLES)
        yield _Shard(cut, rbm[cut], sampler, sampler.start(rbm[cut], data, 1, stream), stream)


class _Streams:
    """Settings of one sampler and all trained models at once: replica s * trials + t has setting s and model t."""

    def __init__(self, rbm: RBM, data: Dataset, parts: dict, settings: SamplingSettings, chosen: SamplerGrid):
        of_replica = samplers.REGISTRY.get(chosen.name).of_replica
        counts = [len(value) for name, value in chosen.options.items() if name in of_replica]
        copies = counts[0] // len(rbm.W) if counts else 1
        self._rbm = RBM(*(np.concatenate([part] * copies) for part in (rbm.W, rbm.b, rbm.c)))
        self._trials = list(range(len(rbm.W)))
        self._shards = list(_shards(self._rbm, data.train, self._trials * copies, settings.seed, chosen))
        self._found = {name: IndirectSampling(rows, len(self._rbm.W)) for name, rows in parts.items()}
        self._wanted, self._shown = settings.shown, []
        self._done, self._timed, self._cost = 0, 0, 0.0

    def until(self, point: int) -> Iterator[tuple[int, pd.DataFrame]]:
        """Draw samples up to a number of them; yield every replica and its line."""
        while self._done < point:
            left = self._wanted - self._done
            self._draw(min(BLOCK, point - self._done, left if left > 0 else BLOCK), left > 0)
        copies = len(self._rbm.W) // len(self._trials)
        yield from _likelihoods(self._found, self._trials * copies)

    def _draw(self, count: int, shows: bool) -> None:
        """Draw some samples and count their distances; keep those that are to be shown, time the others."""
        block = np.empty((len(self._rbm.W), 1, count, self._rbm.visible_units), np.uint8)
        means = np.empty(block.shape, np.float32) if shows and self._shards[0].sampler.has_means else None
        began = process_time()
        for shard in self._shards:
            shard.draw(block, means)
        if shows:
            grey = 255 * (block if means is None else means)[:: len(self._trials), 0].astype(np.float32)
            self._shown.append(np.rint(grey).astype(np.uint8))
        else:
            self._cost, self._timed = self._cost + process_time() - began, self._timed + count
        for counted in self._found.values():
            counted.add(block[:, 0])
        self._done += count

    def shown(self) -> np.ndarray:
        """Return the first samples of the first model, uint8 (settings, shown, m)."""
        return np.concatenate(self._shown, axis=1)

    def seconds(self) -> float | None:
        """Return the processor's seconds a sample of one chain."""
        return self._cost / self._timed / len(self._rbm.W) if self._timed else None
