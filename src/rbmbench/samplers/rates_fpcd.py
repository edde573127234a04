# SPDX-License-Identifier: BSD-3-Clause
"""Rates-FPCD: a Gibbs chain whose parameters move away from each sample and towards the rates of the data.

Let the rates R be the mean over the training rows of (x p(h|x)', x, p(h|x)) under theta. A sample (x, h) is the state
after k Gibbs steps of a persistent chain under theta + theta_F, and is followed by

    theta_F <- alpha theta_F + eps_F (R - (x h', x, h)),

from theta_F = 0. With alpha = 1, theta_F stays bounded and the averages of the samples approach R. With eps_F = 0 this
is Gibbs sampling. The chains of a replica share theta_F, which is updated with their mean.

Source: Breuleux, Bengio, Vincent 2011, section 4, algorithm 2 (RatesFPCDSample).
Shapes: state "hidden" (replicas, chains, n); theta + theta_F as "W" (replicas, m, n), "b" (replicas, m), "c"
(replicas, n); "rate" and "decay" (replicas,), eps_F and alpha; "drift_W", "drift_b", "drift_c" for
(1 - alpha) theta + eps_F R, so that a step is one pass over the parameters:
theta + theta_F <- alpha (theta + theta_F) + drift - eps_F (x h', x, h).

For a single chain that pass costs more than the two products of a step. Decay and drift are then applied lazily: the
weights are scale W + factor drift_W, and a sample changes only the rows of W whose unit is on, and those of its
transpose, see `rbmbench.kernels.numpy.samples.Lazy`.
"""

import numpy as np

from rbmbench.base.registry import LARGEST_FAST_RATE
from rbmbench.kernels import kernels_for
from rbmbench.likelihood.exact import data_statistics
from rbmbench.model.rbm import RBM, Statistics, unchecked_rbm
from rbmbench.samplers._base import REGISTRY, check_numbers, per_replica_values
from rbmbench.samplers.gibbs import Gibbs

PARAMETERS = ("W", "b", "c")
DRIFTS = ("drift_W", "drift_b", "drift_c")


@REGISTRY.register
class RatesFPCD(Gibbs):
    """Rates-FPCD with ``k`` Gibbs steps per sample; ``fast_rate`` is eps_F, ``decay`` alpha (or one per replica).

    In the paper, sampling is best without decay, alpha = 1.
    """

    of_replica = ("fast_rate", "decay")

    def __init__(self, fast_rate: float = 0.01, decay: float = 1.0, k: int = 1):
        super().__init__(k)
        self.fast_rate = check_numbers("fast_rate", fast_rate, LARGEST_FAST_RATE)
        self.decay = check_numbers("decay", decay, 1)

    def start(self, rbm, data, chains, stream):
        """Start the chains at random training rows, with theta_F = 0."""
        state = super().start(rbm, data, chains, stream)
        if "scale" not in state:
            drifts, state["decay"], state["rate"] = self.motion(rbm, data)
            state |= dict(zip(DRIFTS, drifts, strict=True))
            state |= {name: parameter.copy() for name, parameter in rbm.parameters._asdict().items()}
        return state

    def motion(self, rbm, data):
        rate, decay = per_replica_values("fast_rate", self.fast_rate, rbm), per_replica_values("decay", self.decay, rbm)
        # Without a fast rate, theta must not change by rounding.
        decay = np.where(rate == 0, 1.0, decay)
        rate, decay = np.asarray(rate, like=rbm.W), np.asarray(decay, like=rbm.W)
        drifts = []
        for parameter, mean in zip(rbm.parameters, self.rates(rbm, data), strict=True):
            broadcast = (slice(None), *[None] * (parameter.ndim - 1))
            drift = (1 - decay)[broadcast] * parameter + rate[broadcast] * mean
            drifts.append(drift.astype(rbm.W.dtype))
        return Statistics(*drifts), decay.astype(rbm.W.dtype), rate.astype(rbm.W.dtype)

    def rates(self, rbm: RBM, data) -> Statistics:
        return data_statistics(rbm, data)

    def parameters(self, rbm, state):
        """Return the parameters of the state, as views; for a single chain W is incomplete, see `whole`."""
        return unchecked_rbm(*(state[name] for name in PARAMETERS))

    def whole(self, state) -> RBM:
        """Return theta + theta_F."""
        lazy = self.lazy_parameters(state)
        return unchecked_rbm(lazy.whole() if lazy else state["W"], state["b"], state["c"])

    def after_sample(self, rbm, state, visible, hidden):
        """Apply decay and drift, and move away from the sample."""
        numbers = [state[name] for name in (*DRIFTS, "decay", "rate")]
        kernels_for(rbm.W).unlearn_samples(*rbm.parameters, *numbers, visible, hidden)
