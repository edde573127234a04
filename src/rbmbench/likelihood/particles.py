# SPDX-License-Identifier: BSD-3-Clause
"""Annealing of particles along a schedule of inverse temperatures; see `rbmbench.likelihood.annealing`.

Models are processed in shards, one per thread at a time. Results do not depend on shards, threads or pauses.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from operator import methodcaller
from time import perf_counter
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from rbmbench.base import pace
from rbmbench.base.registry import positive_integer
from rbmbench.base.streams import Purpose, Stream
from rbmbench.kernels import Array, is_host_array, kernels_for, on_host
from rbmbench.kernels.threads import map_items
from rbmbench.model.gibbs import Buffers, hidden_activation, visible_activation
from rbmbench.model.rbm import RBM

SHARD_BYTES = 2**20


class Particles(NamedTuple):
    """State of an interrupted annealing, which resumes bit for bit.

    ``finished`` holds the log weights of finished models, float64 (finished models, particles). For the models in
    progress, which come next, ``visible`` holds the states, uint8 (models, particles, m), and ``log_weights`` the log
    weights, float64 (models, particles), after ``steps`` steps; ``draw`` is the number of the next draw of their
    streams.
    """

    finished: np.ndarray
    visible: np.ndarray
    log_weights: np.ndarray
    steps: int
    draw: int


Pause = Callable[[Callable[[], Particles]], None]


def like(array: Array, values) -> Array:
    """Return values with the array type and dtype of ``array``."""
    return np.asarray(values, dtype=array.dtype, like=array)


class ParticleShard:
    """Some models whose particles are annealed together."""

    def __init__(self, rbm: RBM, b0: np.ndarray, stream: Stream):
        self.rbm, self.stream, self._buffers = rbm, stream, Buffers()
        self._start_bias = like(rbm.b, b0)
        self._bias_difference = (rbm.b - self._start_bias)[..., None]

    def begin(self, visible: Array) -> None:
        """Start with these states."""
        self.visible = visible
        self.log_weights = np.zeros(visible.shape[:-1], np.float64, like=visible)

    def restore(self, visible: np.ndarray, log_weights: np.ndarray, draw: int) -> None:
        """Continue from an interrupted annealing."""
        self.visible = like(self.rbm.W, visible)
        self.log_weights = np.array(log_weights, like=self.rbm.W)
        self.stream.number = draw

    def advance(self, temperatures: list[float]) -> None:
        """Move the particles from the first to the last of these inverse temperatures, which may repeat."""
        rbm, kernels, buffers = self.rbm, kernels_for(self.visible), self._buffers
        for beta, following in pairwise(temperatures):
            hidden = hidden_activation(rbm, self.visible, buffers)
            if following != beta:
                kernels.softplus_difference(hidden, rbm.c, beta, following, self.log_weights)
                self.log_weights += (following - beta) * np.matmul(self.visible, self._bias_difference)[..., 0]
            if 0 < following < 1 or following == beta:
                kernels.sample_bernoulli(hidden, following * rbm.c, self.stream.next(), following)
                self.visible = visible_activation(rbm, hidden, buffers)
                bias = (1 - following) * self._start_bias + following * rbm.b
                kernels.sample_bernoulli(self.visible, bias, self.stream.next(), following)
        on_host(self.log_weights)  # waits for the device, for the timing of the pace


class Annealing:
    """Annealing of the particles of all models: in shards, as many at a time as there are threads."""

    def __init__(self, rbm: RBM, b0: np.ndarray, schedule: np.ndarray, start, seed: int, keys, particles: int):
        self._models, self._keys, self._seed = rbm.replicas, keys, seed
        self._b0, self._schedule, self._start = b0, schedule.tolist(), start
        bytes_a_model = particles * (rbm.visible_units + rbm.hidden_units) * rbm.W.itemsize
        size = SHARD_BYTES // bytes_a_model if is_host_array(rbm.W) else len(self._models.W)
        self._size = max(1, size)

    def log_weights(self, threads, progress=None, begun: Particles | None = None, pause=None) -> np.ndarray:
        """Return the log weights of all particles, float64 (models, particles)."""
        threads = positive_integer("threads", threads)
        finished = [] if begun is None else [begun.finished]
        models, steps = len(self._models.W), len(self._schedule) - 1
        with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
            while (done := sum(map(len, finished))) < models:
                group = self._group(done, threads, begun)
                first, begun = begun.steps if begun else 0, None
                for step in self._pieces(group, first, pool, threads):
                    if progress:
                        progress(done * steps + step * sum(len(shard.rbm.W) for shard in group), models * steps)
                    if pause:
                        pause(partial(_particles, finished, group, step))
                finished += [on_host(shard.log_weights) for shard in group]
        return np.concatenate(finished)

    def _group(self, first: int, threads: int, begun: Particles | None) -> list[ParticleShard]:
        """Return the next shards, at the start of the schedule or resumed."""
        last = min(first + (len(begun.visible) if begun else self._size * threads), len(self._models.W))
        group = []
        for start in range(first, last, self._size):
            cut = slice(start, min(start + self._size, last))
            stream = Stream(self._seed, self._keys[cut], Purpose.ANNEALING)
            group.append(ParticleShard(self._models[cut], self._b0, stream))
            if begun:
                local = slice(cut.start - first, cut.stop - first)
                group[-1].restore(begun.visible[local], begun.log_weights[local], begun.draw)
            else:
                group[-1].begin(self._start(cut, self._models[cut], stream))
        return group

    def _pieces(self, group: list[ParticleShard], step: int, pool, threads: int) -> Iterator[int]:
        """Advance the shards piece by piece; yield the number of steps done after each piece."""
        piece = pace.Pace()
        while step < len(self._schedule) - 1:
            started = perf_counter()
            temperatures = self._schedule[step : step + piece.steps + 1]
            map_items(pool, threads, methodcaller("advance", temperatures), group)
            step += len(temperatures) - 1
            piece.update(len(temperatures) - 1, perf_counter() - started)
            yield step


def _particles(finished: list[np.ndarray], group: list[ParticleShard], steps: int) -> Particles:
    """Return the current state, in host memory."""
    weights = np.concatenate([on_host(shard.log_weights) for shard in group])
    visible = np.concatenate([on_host(shard.visible).astype(np.uint8) for shard in group])
    done = np.concatenate([weights[:0], *finished])
    return Particles(done, visible, weights, steps, group[0].stream.number)
