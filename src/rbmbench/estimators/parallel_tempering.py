# SPDX-License-Identifier: BSD-3-Clause
"""Parallel tempering (PT) for the model expectation.

    E_model f  is estimated by  (1/N) sum_i f(v_i),   f(v) = (v p(h|v)', v, p(h|v)),

where v_i are the visible states at inverse temperature 1 after successive sweeps of all tempered chains: a Gibbs step
of each chain, then swaps of the even and of the odd neighbouring pairs. An estimate of N rows takes N sweeps of one set
of chains as in the paper, or N / sets sweeps of ``sets`` independent sets. The chains are persistent and start at
random training rows.

Source: Krause, Fischer, Igel, section 4.1; Desjardins et al. 2010.
Shapes: state "visible" (replicas, sets, temperatures, m).
"""

from collections import Counter

from rbmbench.base.errors import SettingsError
from rbmbench.base.registry import positive_integer
from rbmbench.estimators._base import NOTHING, REGISTRY, Estimator
from rbmbench.model.gibbs import Population, hidden_mean
from rbmbench.model.minibatches import random_rows
from rbmbench.model.work import tempered
from rbmbench.samplers.parallel_tempering import ParallelTemperingSampler


@REGISTRY.register
class ParallelTempering(Estimator):
    """PT with ``temperatures`` inverse temperatures, equally spaced in [0, 1], and ``sets`` sets of chains."""

    continues_from = "itself"

    def __init__(self, temperatures: int = 10, sets: int = 1):
        super().__init__()
        self.sampler = ParallelTemperingSampler(temperatures)
        self.sets = positive_integer("sets", sets)

    def products(self, batch, visible_units, hidden_units, diagnostics=NOTHING):
        """Return the products of a sweep for each row of the mini-batch, and of both phases."""
        return 4 + 2 * self.sampler.temperatures

    @property
    def gibbs_steps(self):
        """Steps of all tempered chains in a sweep."""
        return self.sampler.temperatures

    def cost(self, batch, visible_units, hidden_units, diagnostics=NOTHING):
        sweeps = tempered(batch * self.sampler.temperatures, visible_units, hidden_units)
        return Counter(call=1) + self.cost_of_chains(batch, visible_units, hidden_units, 0) + sweeps

    def start(self, rbm, data, batch, stream):
        """Start all chains at random training rows."""
        if batch % self.sets:
            raise SettingsError(f"estimator 'parallel_tempering': sets: must be a divisor of {batch}, got {self.sets}")
        rows = random_rows(data, self.sets * self.sampler.temperatures, rbm.W, stream)
        return {"visible": rows.reshape(len(rows), self.sets, self.sampler.temperatures, -1)}

    def negative_phase(self, rbm, positive, state, stream):
        """Draw as many samples as the mini-batch has rows."""
        replicas, rows, m = positive.visible.shape
        samples = self.buffers.get("samples", (replicas, self.sets, rows // self.sets, m), rbm.W)
        self.sampler.sweep(rbm, state["visible"], stream, samples)
        visible = samples.reshape(replicas, rows, m)
        return Population(visible, hidden_mean(rbm, visible, self.buffers)), state, {}
