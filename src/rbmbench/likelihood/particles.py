"""The way of particles along a schedule of inverse temperatures; see `rbmbench.likelihood.annealing`.

Models go in shards, as many at a time as there are threads; neither shards nor threads nor pauses change a result.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from rbmbench.base import pace
from rbmbench.base.streams import Purpose, Stream
from rbmbench.kernels import is_host_array, kernels_for, on_host
from rbmbench.model.gibbs import Buffers, hidden_activation, visible_activation
from rbmbench.model.rbm import RBM

__all__ = ["Particles", "Pause", "Way", "like"]

SHARD_BYTES = 2**20

Array = Any


class Particles(NamedTuple):
    """Particles on their way, from which an annealing goes on bit for bit.

    ``finished`` are the log weights of the models that are done, float64 (models done, particles). Of those under way,
    which come next, ``visible`` are the states, uint8 (models, particles, m), and ``log_weights`` float64 (models,
    particles), after so many ``steps`` of the schedule; ``draw`` is the next number of their streams.
    """

    finished: np.ndarray
    visible: np.ndarray
    log_weights: np.ndarray
    steps: int
    draw: int


Pause = Callable[[Callable[[], Particles]], None]


def like(array: Array, values) -> Array:
    """Return values as an array of the same kind and type."""
    return np.asarray(values, dtype=array.dtype, like=array)


class ParticleShard:
    """Some models whose particles go along a schedule of inverse temperatures."""

    def __init__(self, rbm: RBM, b0: np.ndarray, stream: Stream):
        self.rbm, self.stream, self._buffers = rbm, stream, Buffers()
        self._start_bias = like(rbm.b, b0)
        self._bias_difference = (rbm.b - self._start_bias)[..., None]

    def begin(self, visible: Array) -> None:
        """Begin with these states."""
        self.visible = visible
        self.log_weights = np.zeros_like(visible, shape=visible.shape[:-1], dtype=np.float64)

    def restore(self, visible: np.ndarray, log_weights: np.ndarray, draw: int) -> None:
        """Go on from where they were."""
        self.visible = like(self.rbm.W, visible)
        self.log_weights = np.array(log_weights, like=self.rbm.W)
        self.stream.number = draw

    def advance(self, temperatures: list[float]) -> None:
        """Move the particles from the first to the last of these inverse temperatures."""
        rbm, kernels, buffers = self.rbm, kernels_for(self.visible), self._buffers
        for beta, following in pairwise(temperatures):
            hidden = hidden_activation(rbm, self.visible, buffers)
            kernels.softplus_difference(hidden, rbm.c, beta, following, self.log_weights)
            self.log_weights += (following - beta) * np.matmul(self.visible, self._bias_difference)[..., 0]
            if 0 < following < 1:
                kernels.sample_bernoulli(hidden, following * rbm.c, self.stream.next(), following)
                self.visible = visible_activation(rbm, hidden, buffers)
                bias = (1 - following) * self._start_bias + following * rbm.b
                kernels.sample_bernoulli(self.visible, bias, self.stream.next(), following)
        on_host(self.log_weights)  # waits for a device, so that a piece's time is its own


class Way:
    """The way of all models' particles along a schedule: models in shards, as many shards at a time as threads."""

    def __init__(self, rbm: RBM, b0: np.ndarray, schedule: np.ndarray, start, seed: int, keys, particles: int):
        self._models, self._keys, self._seed = rbm.replicas, keys, seed
        self._b0, self._schedule, self._start = b0, schedule.tolist(), start
        bytes_a_model = particles * (rbm.visible_units + rbm.hidden_units) * rbm.W.itemsize
        size = SHARD_BYTES // bytes_a_model if is_host_array(rbm.W) else len(self._models.W)
        self._size = max(1, size)

    def log_weights(self, threads, progress=None, begun: Particles | None = None, pause=None) -> np.ndarray:
        """Return the log weights of all particles, float64 (models, particles)."""
        finished = [] if begun is None else [begun.finished]
        models, steps = len(self._models.W), len(self._schedule) - 1
        with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
            while (done := sum(map(len, finished))) < models:
                group = self._group(done, threads, begun)
                first, begun = begun.steps if begun else 0, None
                for step in self._pieces(group, first, pool):
                    if progress:
                        progress(done * steps + step * sum(len(shard.rbm.W) for shard in group), models * steps)
                    if pause:
                        pause(partial(_particles, finished, group, step))
                finished += [on_host(shard.log_weights) for shard in group]
        return np.concatenate(finished)

    def _group(self, first: int, threads: int, begun: Particles | None) -> list[ParticleShard]:
        """Return the shards that go next, at the beginning or where they were."""
        last = min(first + (len(begun.visible) if begun else self._size * threads), len(self._models.W))
        group = []
        for start in range(first, last, self._size):
            cut = slice(start, min(start + self._size, last))
            stream = Stream(self._seed, self._keys[cut], Purpose.ANNEALING)
            group.append(ParticleShard(self._models[cut], self._b0, stream))
            if begun:
                its = slice(cut.start - first, cut.stop - first)
                group[-1].restore(begun.visible[its], begun.log_weights[its], begun.draw)
            else:
                group[-1].begin(self._start(cut, self._models[cut], stream))
        return group

    def _pieces(self, group: list[ParticleShard], step: int, pool) -> Iterator[int]:
        """Move the shards along the schedule; after every piece of it yield the number of steps made."""
        going = pace.Pace()
        while step < len(self._schedule) - 1:
            started = perf_counter()
            temperatures = self._schedule[step : step + going.steps + 1]
            list(pool.map(lambda shard, piece=temperatures: shard.advance(piece), group))
            step += len(temperatures) - 1
            going.update(len(temperatures) - 1, perf_counter() - started)
            yield step


def _particles(finished: list[np.ndarray], group: list[ParticleShard], steps: int) -> Particles:
    """Return where the particles are, on the host."""
    weights = np.concatenate([on_host(shard.log_weights) for shard in group])
    visible = np.concatenate([on_host(shard.visible).astype(np.uint8) for shard in group])
    done = np.concatenate([weights[:0], *finished])
    return Particles(done, visible, weights, steps, group[0].stream.number)
