# SPDX-License-Identifier: BSD-3-Clause
"""Streams of samples of trained models, and their indirect sampling likelihood as a function of the number of samples.

Each setting in the grid of a sampler samples each trained model by one chain; settings that differ only in options per
replica are sampled at once. The chains of one model start at the same rows and share random numbers, for all samplers,
which makes differences between samplers more precise.

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
from rbmbench.model.rows import binary_rows
from rbmbench.training.checkpoint import Checkpointer, State, identity
from rbmbench.training.shards import SHARD_BYTES

TRAINING_SET = "training_set"  # name in index of a sampler if the samples are the training rows
BLOCK = 500  # samples drawn at a time
COUNT_BYTES = 2**28  # limit for the counts of streams that are sampled at once
ARRAYS_A_REPLICA = 4  # arrays of the size of W that samplers read for each sample, and that should stay in the cache


class Sampled(NamedTuple):
    """Results of all streams.

    Attributes
    ----------
    likelihoods : DataFrame
        One row per sampler, setting, trial and number of samples: the mean log-likelihoods ``validation`` and ``test``
        (nats per row) at the ``flip`` 1 - beta that is best on the validation rows. Trial -1 and setting 0 are
        the training rows as samples.
    shown : dict
        First samples of the first model by "SAMPLER-SETTING", uint8 (shown, m): 255 E(x|h) if known, else 0 or 255.
    seconds : dict
        Processor seconds per sample of one chain, by sampler, one value per setting; None with too few samples.
    """

    likelihoods: pd.DataFrame
    shown: dict[str, np.ndarray]
    seconds: dict[str, list[float | None]]


def log_grid(samples: int, points: int) -> list[int]:
    """Return numbers of samples from 1 to ``samples``, equally spaced in logarithm up to rounding."""
    return sorted({int(number) for number in np.geomspace(1, samples, points).round()} | {samples})


class _Block(NamedTuple):
    """Samples that are drawn at a time: ``shown`` ones are kept, and after a ``point`` the likelihood is computed."""

    first: int
    count: int
    shown: bool
    point: bool


def _blocks(settings: SamplingSettings) -> Iterator[_Block]:
    done = 0
    for point in log_grid(settings.samples, settings.points):
        while done < point:
            remaining = settings.shown - done
            count = min(BLOCK, point - done, remaining if remaining > 0 else BLOCK)
            yield _Block(done, count, remaining > 0, done + count == point)
            done += count


def sampled(
    rbm: RBM,
    data: Dataset,
    settings: SamplingSettings,
    progress: Progress | None = None,
    checkpointer: Checkpointer | None = None,
    chosen: slice = slice(None),
) -> Sampled:
    """Sample trained models with all settings of all samplers.

    The RBM has one leading axis of trials, the data set validation and test rows. ``progress`` is called as
    progress(streams done, streams). Checkpoints are written between blocks of samples. ``chosen`` are the trials that
    are sampled, by default all; likelihoods of the training rows as samples are with the first. Raises a `DataError` if
    there are no validation or no test rows, or they do not fit the models, a `SettingsError` if a sampler or one of its
    options is unknown, or its value is not allowed.
    """
    parts = {name: getattr(data, name)[: settings.rows] for name in ("validation", "test")}
    for name, rows in parts.items():
        if not len(rows):
            raise DataError(f"{data.name}: {name}: must have rows, got none")
    for name, rows in {"train": data.train, **parts}.items():
        binary_rows(rows, f"{data.name}: {name}", rbm.visible_units)
    trials = list(range(len(rbm.W)))[chosen]
    # Settings are grouped for all trials, so that rows have the same order with fewer.
    groups = [
        (name, *group)
        for name, grid in settings.samplers.items()
        for group in _groups(grid, len(rbm.W), len(trials), parts)
    ]
    rbm = rbm[chosen]
    checkpointer, parameters = checkpointer or Checkpointer(), rbm.parameters._asdict()
    saved = checkpointer.resume(identity(settings, parameters | parts | {"train": data.train}))
    likelihoods = {name: IndirectSampling(rows) for name, rows in parts.items()}
    for counted in likelihoods.values():
        counted.add(data.train[:][None])  # sparse rows become dense
    ((_, training_set_row),) = _likelihoods(likelihoods, [-1])
    first = training_set_row.assign(sampler=TRAINING_SET, setting=0).iloc[: int(trials[0] == 0)]
    results = _Results(settings, first, saved)
    streams = None
    if saved and saved["streams"]:
        streams = _Streams(rbm, trials, data, parts, settings, groups[saved["group"]][1])
        streams.restore(saved["streams"], saved["drawn"])

    def state() -> State:
        arrays, drawn = streams.state() if streams else ({}, {})
        return results.state() | {"group": group, "streams": arrays, "drawn": drawn}

    pieces = [(group, block) for group in range(len(groups)) for block in _blocks(settings)]
    # As in training: matrix products stay on one thread.
    with threadpool_limits(1):
        for group, block in checkpointer.pieces(pieces, state):
            name, options, indices = groups[group]
            if progress and not block.first:
                progress(group, len(groups))
            streams = streams or _Streams(rbm, trials, data, parts, settings, options)
            streams.draw(block.count, block.shown)
            if block.point:
                results.add_likelihoods(name, indices, streams)
            if block.first + block.count == settings.samples:
                results.add_shown(name, indices, streams)
                streams = None
    if progress:
        progress(len(groups), len(groups))
    return Sampled(results.table(), results.shown, results.seconds)


class _Results:
    def __init__(self, settings: SamplingSettings, first: pd.DataFrame, saved: State | None):
        self._tables = [pd.DataFrame(saved["table"]) if saved else first]
        self.shown = saved["shown"] if saved else {}
        none = {name: [None] * len(grid.settings) for name, grid in settings.samplers.items()}
        self.seconds = saved["seconds"] if saved else none

    def add_likelihoods(self, name: str, indices: list[int], streams: "_Streams") -> None:
        """Add the rows of all replicas at the current number of samples."""
        trials = len(streams.trials)
        self._tables += [row.assign(sampler=name, setting=indices[r // trials]) for r, row in streams.likelihoods()]

    def add_shown(self, name: str, indices: list[int], streams: "_Streams") -> None:
        """Add the first samples and the cost of streams that are at their end."""
        self.shown |= {f"{name}-{index}": first for index, first in zip(indices, streams.shown(), strict=True)}
        for index in indices:
            self.seconds[name][index] = streams.seconds()

    def table(self) -> pd.DataFrame:
        """Return the rows so far."""
        columns = ["sampler", "setting", "trial", "samples", "validation", "test", "flip"]
        self._tables = [pd.concat(self._tables, ignore_index=True)[columns]]
        return self._tables[0]

    def state(self) -> State:
        """Return the state, which `__init__` accepts."""
        columns = {name: column.to_numpy() for name, column in self.table().items()}
        columns["sampler"] = np.array(columns["sampler"], dtype=str)
        return {"table": columns, "shown": self.shown, "seconds": self.seconds}


def _likelihoods(likelihoods: dict[str, IndirectSampling], trials: Iterable[int]) -> Iterator[tuple[int, pd.DataFrame]]:
    flips = likelihoods["validation"].best_flips()
    values = {name: counted.log_likelihood(flips[:, None])[:, 0] for name, counted in likelihoods.items()}
    for r, trial in enumerate(trials):
        row = {"trial": trial, "samples": likelihoods["test"].samples}
        row |= {name: value[r] for name, value in values.items()} | {"flip": flips[r]}
        yield r, pd.DataFrame([row])


def _groups(
    grid: SamplerGrid, trials: int, chosen: int, parts: dict[str, np.ndarray]
) -> Iterator[tuple[SamplerGrid, list[int]]]:
    """Yield settings to sample at once, as a sampler with lists of values of options, and their indices in the grid.

    As many are sampled at once as fit with all trials; values are repeated for the chosen ones.
    """
    of_replica = samplers.REGISTRY.get(grid.name).of_replica
    groups: dict[str, list[int]] = {}
    for index, options in enumerate(grid.settings):
        shared = {name: value for name, value in options.items() if name not in of_replica}
        groups.setdefault(repr(sorted(shared.items())), []).append(index)
    setting_bytes = 8 * trials * sum(len(rows) * (rows.shape[1] + 1) for rows in parts.values())
    most = max(1, COUNT_BYTES // setting_bytes)
    for indices in (group[first : first + most] for group in groups.values() for first in range(0, len(group), most)):
        together = [grid.settings[index] for index in indices]
        replica_options = {
            name: [options[name] for options in together for _ in range(chosen)]
            for name in together[0]
            if name in of_replica
        }
        yield SamplerGrid(name=grid.name, options=together[0] | replica_options), indices


class _Shard(NamedTuple):
    """Replicas that are sampled together: the slice ``cut`` of all."""

    cut: slice
    rbm: RBM
    sampler: samplers.Sampler
    state: dict
    stream: Stream

    def draw(self, samples: np.ndarray, means: np.ndarray | None) -> None:
        means = None if means is None else means[self.cut]
        self.sampler.draw(self.rbm, self.state, self.stream, samples[self.cut], means)


def _shards(rbm: RBM, data: np.ndarray, trials: list[int], seed: int, chosen: SamplerGrid) -> Iterator[_Shard]:
    """Yield the replicas in shards whose parameters stay in the cache; on a device, in one shard."""
    replicas, of_replica = len(trials), samplers.REGISTRY.get(chosen.name).of_replica
    size = max(1, SHARD_BYTES // (ARRAYS_A_REPLICA * rbm.W[0].nbytes)) if is_host_array(rbm.W) else replicas
    for start in range(0, replicas, size):
        cut = slice(start, start + size)
        options = {name: value[cut] if name in of_replica else value for name, value in chosen.options.items()}
        sampler, stream = samplers.REGISTRY.create(chosen.name, options), Stream(seed, trials[cut], Purpose.SAMPLES)
        yield _Shard(cut, rbm[cut], sampler, sampler.start(rbm[cut], data, 1, stream), stream)


class _Streams:
    """Streams of several settings of one sampler and all models: replica s * trials + t has setting s and model t."""

    def __init__(
        self, rbm: RBM, trials: list[int], data: Dataset, parts: dict, settings: SamplingSettings, chosen: SamplerGrid
    ):
        of_replica = samplers.REGISTRY.get(chosen.name).of_replica
        counts = [len(value) for name, value in chosen.options.items() if name in of_replica]
        copies = counts[0] // len(rbm.W) if counts else 1
        self._rbm = RBM(*(np.concatenate([parameter] * copies) for parameter in rbm.parameters))
        self.trials, self._rows = trials, data.train
        self._shards = list(_shards(self._rbm, data.train, self.trials * copies, settings.seed, chosen))
        self._counted = {name: IndirectSampling(rows, len(self._rbm.W)) for name, rows in parts.items()}
        self._shown, self._timed, self._cost = [], 0, 0.0

    def state(self) -> tuple[dict[str, np.ndarray], State]:
        """Return arrays and plain data from which the streams continue."""
        arrays = {f"counts {name}": counted.counts for name, counted in self._counted.items()}
        arrays["shown"] = self.shown()
        for s, shard in enumerate(self._shards):
            # Some samplers keep the training rows in their state; they need not be saved.
            arrays |= {f"{s} {name}": array for name, array in shard.state.items() if array is not self._rows}
        samples, draws = self._counted["test"].samples, [shard.stream.number for shard in self._shards]
        return arrays, {"samples": samples, "draws": draws, "timed": self._timed, "cost": self._cost}

    def restore(self, arrays: dict[str, np.ndarray], drawn: State) -> None:
        """Continue from a saved state."""
        self._shown, self._timed, self._cost = [arrays["shown"]], drawn["timed"], drawn["cost"]
        for name, counted in self._counted.items():
            counted.counts[...], counted.samples = arrays[f"counts {name}"], drawn["samples"]
        for s, shard in enumerate(self._shards):
            shard.stream.number = drawn["draws"][s]
            for name, array in shard.state.items():
                if array is not self._rows:
                    array[...] = arrays[f"{s} {name}"]

    def likelihoods(self) -> Iterator[tuple[int, pd.DataFrame]]:
        """Yield each replica and its row at the current number of samples."""
        copies = len(self._rbm.W) // len(self.trials)
        yield from _likelihoods(self._counted, self.trials * copies)

    def draw(self, count: int, shows: bool) -> None:
        """Draw samples and count their distances; keep samples to be shown, and time the others."""
        block = np.empty((len(self._rbm.W), 1, count, self._rbm.visible_units), np.uint8)
        means = np.empty(block.shape, np.float32) if shows and self._shards[0].sampler.has_means else None
        began = process_time()
        for shard in self._shards:
            shard.draw(block, means)
        if shows:
            grey = 255 * (block if means is None else means)[:: len(self.trials), 0].astype(np.float32)
            self._shown.append(np.rint(grey).astype(np.uint8))
        else:
            self._cost, self._timed = self._cost + process_time() - began, self._timed + count
        for counted in self._counted.values():
            counted.add(block[:, 0])

    def shown(self) -> np.ndarray:
        """Return the first samples of the first model, uint8 (settings, shown, m)."""
        self._shown = [np.concatenate(self._shown, axis=1)]
        return self._shown[0]

    def seconds(self) -> float | None:
        """Return the processor seconds per sample of one chain."""
        return self._cost / self._timed / len(self._rbm.W) if self._timed else None
