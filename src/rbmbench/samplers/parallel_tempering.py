# SPDX-License-Identifier: BSD-3-Clause
"""Parallel tempering: chains at inverse temperatures between 0 and 1 that exchange their states.

Chain r samples p_r(v, h) proportional to exp(-beta_r E(v, h)). A sweep is one block Gibbs step of each chain, and then
proposals to swap the states (v, h) of neighbours r, s, accepted with probability

    min(1, exp((beta_r - beta_s) (E(v_r, h_r) - E(v_s, h_s)))),

first for even and then for odd pairs. The Gibbs step leaves the tempered joint distribution invariant, so swaps use the
energy of the joint state, not the free energy.

Source: Krause, Fischer, Igel, section 4.1; Desjardins et al. 2010.
"""

import numpy as np

from rbmbench.base.errors import SettingsError
from rbmbench.base.registry import positive_integer
from rbmbench.base.streams import Stream
from rbmbench.kernels import contiguous, kernels_for
from rbmbench.model.minibatches import random_rows
from rbmbench.model.rbm import RBM, check_replicas, check_shape
from rbmbench.samplers._base import REGISTRY, Sampler


class ParallelTemperingSampler:
    """PT with ``temperatures`` inverse temperatures, equally spaced from 0 to 1.

    Raises a `SettingsError` if there are fewer than 2, or too many, see `rbmbench.base.settings`.
    """

    def __init__(self, temperatures: int = 10):
        self.temperatures = positive_integer("temperatures", temperatures, least=2)
        self.inverse_temperatures = np.linspace(0, 1, self.temperatures)

    def sweep(self, rbm: RBM, visible, stream: Stream, samples) -> None:
        """Make a sweep for each entry of ``samples``; one draw per sweep is taken.

        ``visible`` (replicas, sets, temperatures, m), the states of the chains, is changed in place. ``samples``
        (replicas, sets, sweeps, m) receives the state at inverse temperature 1 after each sweep. A `SettingsError` is
        raised if an array has another shape.
        """
        check_replicas(rbm)
        check_shape("visible", visible, len(rbm.W), "sets", self.temperatures, rbm.visible_units)
        check_shape("samples", samples, len(rbm.W), visible.shape[1], "samples", rbm.visible_units)
        draw = stream.take(samples.shape[2])
        betas = self.inverse_temperatures.astype(rbm.W.dtype)
        states, drawn = (contiguous(array, rbm.W.dtype, rbm.W) for array in (visible, samples))
        kernels_for(states).tempered_sweeps(rbm.W, rbm.b, rbm.c, betas, draw, states, drawn)
        for array, changed in ((visible, states), (samples, drawn)):
            if changed is not array:
                array[...] = changed


@REGISTRY.register
class ParallelTempering(Sampler):
    """PT, where each chain is a set of ``temperatures`` chains, with ``k`` sweeps per sample.

    State "visible" (replicas, chains, temperatures, m), from random training rows.
    """

    has_means = False

    def __init__(self, temperatures: int = 10, k: int = 1):
        super().__init__()
        self.sampler = ParallelTemperingSampler(temperatures)
        self.k = positive_integer("k", k)

    def start(self, rbm, data, chains, stream):
        """Start all tempered chains at random training rows."""
        rows = random_rows(data, chains * self.sampler.temperatures, rbm.W, stream)
        return {"visible": rows.reshape(len(rows), chains, self.sampler.temperatures, -1)}

    def draw(self, rbm, state, stream, samples, means=None):
        """Make sweeps; samples are the states at inverse temperature 1. Means are not supported."""
        if means is not None:
            raise SettingsError("sampler 'parallel_tempering': means: must be none")
        replicas, chains, count, m = samples.shape
        visited = self.buffers.get("visited", (replicas, chains, count * self.k, m), rbm.W)
        self.sampler.sweep(rbm, state["visible"], stream, visited)
        samples[...] = visited[:, :, self.k - 1 :: self.k]
