"""Rates-FPCD: a Gibbs chain whose parameters unlearn every sample, and are drawn back by the rates of the data.

With the rates R = mean over the training rows of (x p(h|x)', x, p(h|x)) under theta, a sample (x, h) is the state after
k Gibbs steps of a persistent chain under theta + theta_F, and after it

    theta_F <- alpha theta_F + eps_F (R - (x h', x, h)),

from theta_F = 0. With alpha = 1 the samples' averages approach R: theta_F stays bounded, and is the sum of what they
lack. With eps_F = 0 this is Gibbs sampling. Several chains of a replica share theta_F, and unlearn their mean.

Source: Breuleux, Bengio, Vincent 2011, section 4, algorithm 2 (RatesFPCDSample).
Shapes: state "hidden" (replicas, chains, n); theta + theta_F as "W" (replicas, m, n), "b" (replicas, m), "c"
(replicas, n); "rate" and "decay" (replicas,), eps_F and alpha; "drift_W", "drift_b", "drift_c", which hold
(1 - alpha) theta + eps_F R, so that a step is one pass over the parameters:
theta + theta_F <- alpha (theta + theta_F) + drift - eps_F (x h', x, h).

That pass costs a single chain nearly as much as its two products. So there decay and drift wait for some samples: the
weights are scale W + factor drift_W, and a sample changes only the rows of W whose unit is on. "scale" and "factor"
(replicas,) and "drift_W_transposed" (replicas, n, m) are there where they wait.
"""

import numpy as np

from rbmbench.base.registry import LARGEST_FAST_RATE
from rbmbench.kernels import is_host_array, kernels_for
from rbmbench.likelihood.exact import data_statistics
from rbmbench.model.gibbs import hidden_activation, visible_activation
from rbmbench.model.rbm import RBM, Statistics
from rbmbench.samplers._base import REGISTRY, check_numbers, of_replicas
from rbmbench.samplers.gibbs import Gibbs

__all__ = ["DRIFTS", "RatesFPCD"]

PARAMETERS = ("W", "b", "c")
DRIFTS = ("drift_W", "drift_b", "drift_c")


@REGISTRY.register
class RatesFPCD(Gibbs):
    """Rates-FPCD; ``fast_rate`` is eps_F, ``decay`` alpha, each a number or one a replica; ``k`` Gibbs steps a sample.

    The paper finds no decay, alpha = 1, to be best for sampling.
    """

    of_replica = ("fast_rate", "decay")
    may_wait = True

    def __init__(self, fast_rate: float = 0.01, decay: float = 1.0, k: int = 1):
        super().__init__(k)
        self.fast_rate = check_numbers("fast_rate", fast_rate, LARGEST_FAST_RATE)
        self.decay = check_numbers("decay", decay, 1)

    def start(self, rbm, data, chains, stream):
        """Put the chains on random training rows; nothing is fast yet."""
        state = super().start(rbm, data, chains, stream)
        kind = rbm.W.dtype
        rate, decay = of_replicas("fast_rate", self.fast_rate, rbm), of_replicas("decay", self.decay, rbm)
        # Where nothing is unlearned nothing is fast, and theta stays as it is to the last bit.
        decay = np.where(rate == 0, 1.0, decay)
        rate, decay = np.asarray(rate, like=rbm.W), np.asarray(decay, like=rbm.W)
        state |= {"rate": rate.astype(kind), "decay": decay.astype(kind)}
        rates = self.rates(rbm, data)
        for name, drift, parameter, mean in zip(PARAMETERS, DRIFTS, (rbm.W, rbm.b, rbm.c), rates, strict=True):
            ones = (slice(None), *[None] * (parameter.ndim - 1))
            state[name] = parameter.copy()
            state[drift] = ((1 - decay)[ones] * parameter + rate[ones] * mean).astype(kind)
        if self.may_wait and chains == 1 and is_host_array(rbm.W):
            state |= {"scale": np.ones(len(rate)), "factor": np.zeros(len(rate))}
            state["drift_W_transposed"] = state["drift_W"].swapaxes(-1, -2).copy()
        return state

    def rates(self, rbm: RBM, data) -> Statistics:
        """Return R, float64, with the shapes of W, b and c."""
        return data_statistics(rbm, data)

    def parameters(self, rbm, state):
        """Return the parameters of the state, as views; where decay and drift wait, W is not whole: see `whole`."""
        return RBM(*(state[name] for name in PARAMETERS))

    def whole(self, state) -> RBM:
        """Return theta + theta_F, without what waits."""
        W, b, c = (state[name] for name in PARAMETERS)
        return RBM(_whole(state) if "scale" in state else W, b, c)

    def next_visible(self, rbm, state, hidden, stream):
        """Return x ~ p(x|h), in a buffer."""
        if "scale" not in state:
            return super().next_visible(rbm, state, hidden, stream)
        activation = visible_activation(rbm, hidden, self.buffers)
        waiting = _waiting(state, "drift_W_transposed")
        kernels_for(activation).add_states_and_sample(activation, hidden, *waiting, rbm.b, stream.next())
        return activation

    def next_hidden(self, rbm, state, visible, stream):
        """Return h ~ p(h|x), in a buffer."""
        if "scale" not in state:
            return super().next_hidden(rbm, state, visible, stream)
        activation = hidden_activation(rbm, visible, self.buffers)
        waiting = _waiting(state, "drift_W")
        kernels_for(activation).add_states_and_sample(activation, visible, *waiting, rbm.c, stream.next())
        return activation

    def visible_activation(self, rbm, state, hidden, buffers):
        """Return W h without the bias, in a buffer."""
        activation = visible_activation(rbm, hidden, buffers)
        if "scale" in state:
            kernels_for(activation).add_states(activation, hidden, *_waiting(state, "drift_W_transposed"))
        return activation

    def hidden_activation(self, rbm, state, visible, buffers):
        """Return W'x without the bias, in a buffer."""
        activation = hidden_activation(rbm, visible, buffers)
        if "scale" in state:
            kernels_for(activation).add_states(activation, visible, *_waiting(state, "drift_W"))
        return activation

    def after_sample(self, rbm, state, visible, hidden):
        """Decay, drift towards the rates, and unlearn the sample."""
        kernels, numbers = kernels_for(rbm.W), (state["decay"], state["rate"])
        arguments = rbm.W, rbm.b, rbm.c, state["drift_W"], state["drift_b"], state["drift_c"], *numbers
        if "scale" in state:
            kernels.unlearn_waiting(*arguments, state["scale"], state["factor"], visible, hidden)
        else:
            kernels.unlearn_samples(*arguments, visible, hidden)


def _waiting(state, drift):
    """Return what makes the weights whole: the scale of W, and the factor of a drift."""
    return state["scale"], state["factor"], state[drift]


def _whole(state):
    """Return scale W + factor drift_W."""
    scale, factor = (state[name].astype(state["W"].dtype)[:, None, None] for name in ("scale", "factor"))
    return scale * state["W"] + factor * state["drift_W"]
