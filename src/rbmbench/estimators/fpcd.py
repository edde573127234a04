# SPDX-License-Identifier: BSD-3-Clause
"""Fast persistent contrastive divergence, FPCD-k: PCD with chains that run under additional fast parameters.

    E_model f  is estimated by  (1/N) sum_i f(v_i),   f(v) = (v p(h|v)', v, p(h|v)),

where v_i are the states of N persistent chains that make k Gibbs steps per iteration, and both the chains and p(h|v)
use theta + theta_F. The fast parameters follow the gradient estimate g,

    theta_F <- alpha theta_F + eps_F g,

from theta_F = 0; the update rule changes theta only. The fast parameters drive the chains away from their current
states, and decay. With eps_F = 0 this is PCD-k.

Source: Tieleman, Hinton 2009; Breuleux, Bengio, Vincent 2011, section 2 (alpha = 0.95).
Shapes: state "visible" (replicas, N, m), "fast_W" (replicas, m, n), "fast_b" (replicas, m), "fast_c" (replicas, n).
"""

from dataclasses import dataclass

import numpy as np

from rbmbench.base.registry import LARGEST_FAST_RATE, number_within
from rbmbench.estimators._base import REGISTRY, Estimate
from rbmbench.estimators.pcd import PCD
from rbmbench.kernels import kernels_for
from rbmbench.model.gibbs import PhaseSums
from rbmbench.model.rbm import unchecked_rbm

FAST = ("fast_W", "fast_b", "fast_c")


@dataclass(frozen=True)
class SummedEstimate(Estimate):
    """An estimate with the sums of both phases."""

    sums: tuple[PhaseSums, PhaseSums] | None = None


@REGISTRY.register
class FPCD(PCD):
    """FPCD-k with ``k`` Gibbs steps per iteration and ``chains`` chains (None: one per row of the mini-batch).

    ``fast_rate`` is eps_F, from 0 to 1000, and ``decay`` alpha, from 0 to 1.
    """

    def __init__(self, k: int = 1, chains: int | None = None, fast_rate: float = 0.1, decay: float = 0.95):
        super().__init__(k, chains)
        self.fast_rate = number_within("fast_rate", fast_rate, LARGEST_FAST_RATE)
        self.decay = number_within("decay", decay, 1)

    def start(self, rbm, data, batch, stream):
        """Start the chains at random training rows, with theta_F = 0."""
        fast = zip(FAST, rbm.parameters, strict=True)
        return super().start(rbm, data, batch, stream) | {name: np.zeros_like(slow) for name, slow in fast}

    def negative_phase(self, rbm, positive, state, stream):
        """Run the persistent chains for k steps under theta + theta_F."""
        parameters = zip(FAST, rbm.parameters, strict=True)
        sums = (np.add(slow, state[name], out=self.buffers.get(name, slow.shape, slow)) for name, slow in parameters)
        return super().negative_phase(unchecked_rbm(*sums), positive, state, stream)

    def estimate(self, rbm, batch, state, stream):
        """Return an estimate, see `Estimator.estimate`, and update the fast parameters."""
        slow = super().estimate(rbm, batch, state, stream)
        positive, negative = super().phase_sums(slow)
        rates = self.fast_rate * positive.scale, self.fast_rate * negative.scale
        for name, up, down in zip(FAST, positive.sums, negative.sums, strict=True):
            fast = slow.state[name]
            fast *= fast.dtype.type(self.decay)
            kernels_for(fast).ascend(fast, up, rates[0], down, rates[1])
        return SummedEstimate(slow.positive, slow.negative, slow.state, slow.diagnostics, (positive, negative))

    def phase_sums(self, estimate):
        return getattr(estimate, "sums", None) or super().phase_sums(estimate)
