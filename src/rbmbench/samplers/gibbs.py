# SPDX-License-Identifier: BSD-3-Clause
"""Block Gibbs sampling: a chain of x ~ p(x|h), h ~ p(h|x), of which every k-th state is a sample.

Source: Breuleux, Bengio, Vincent 2011, sections 2 and 5.1. A sample is the pair (x, h) with h drawn from p(h|x).
Shapes: state "hidden" (replicas, chains, n). A single chain computes only the changes of its activations, and has the
arrays of `rbmbench.kernels.numpy.samples.Lazy` in its state.
"""

import numpy as np

from rbmbench.base.registry import positive_integer
from rbmbench.kernels import Array, is_host_array, kernels_for
from rbmbench.kernels.numpy.samples import Lazy
from rbmbench.model.gibbs import Buffers, sample_hidden, sample_visible, visible_activation
from rbmbench.model.minibatches import random_rows
from rbmbench.model.rbm import Statistics, check_shape
from rbmbench.samplers._base import REGISTRY, Sampler


@REGISTRY.register
class Gibbs(Sampler):
    """Gibbs chains from random training rows, with ``k`` steps per sample.

    Base class of samplers that change the model while sampling: they keep the parameters in the state and override
    `motion` and `after_sample`. A single chain runs in one compiled loop if ``lazy`` is true.
    """

    lazy = True

    def __init__(self, k: int = 1):
        super().__init__()
        self.k = positive_integer("k", k)
        self.shown = Buffers()

    def start(self, rbm, data, chains, stream):
        """Start the chains at random training rows."""
        visible = random_rows(data, chains, rbm.W, stream)
        state = {"hidden": sample_hidden(rbm, visible, stream, self.buffers).copy()}
        if self.lazy and chains == 1 and is_host_array(rbm.W):
            state |= Lazy.start(rbm.parameters, *self.motion(rbm, data))._asdict()
        return state

    def motion(self, rbm, data) -> tuple[Statistics, Array, Array]:
        """Return the drifts, with the shapes of W, b and c, decay and rate, (replicas,), of the parameters."""
        drifts = Statistics(*(np.zeros_like(parameter) for parameter in rbm.parameters))
        rate = np.zeros(len(rbm.W), rbm.W.dtype)
        return drifts, 1 + rate, rate

    def draw(self, rbm, state, stream, samples, means=None):
        """Run the chains, k steps per sample."""
        check_shape("samples", samples, *state["hidden"].shape[:2], "samples", rbm.visible_units)
        if lazy := self.lazy_parameters(state):
            means = means if means is None else means[:, 0]
            self.draw_lazily(lazy, state["hidden"][:, 0], stream, samples[:, 0], means)
            return
        rbm, hidden = self.parameters(rbm, state), state["hidden"]
        for number in range(samples.shape[2]):
            visible, hidden = self.transition(rbm, state, hidden, stream)
            samples[:, :, number] = visible
            if means is not None:
                means[:, :, number] = self.visible_mean(rbm, hidden)
            self.after_sample(rbm, state, visible, hidden)
        state["hidden"][...] = hidden

    def lazy_parameters(self, state) -> Lazy | None:
        """Return the arrays of a single chain, None for several."""
        return Lazy(*(state[name] for name in Lazy._fields)) if "scale" in state else None

    def draw_lazily(self, lazy, hidden, stream, samples, means) -> None:
        """Fill ``samples`` (replicas, samples, m) by one chain per replica, and change its state."""
        draw = stream.take(2 * self.k * samples.shape[1])
        draw.check(len(hidden))
        kernels_for(hidden).draw_lazily(lazy, self.k, hidden, draw, samples, means)

    def parameters(self, rbm, state):
        """Return the RBM to sample, which `after_sample` may change in place."""
        return rbm

    def transition(self, rbm, state, hidden, stream):
        """Return the next (x, h) of each chain, in buffers."""
        for _ in range(self.k):
            visible = sample_visible(rbm, hidden, stream, self.buffers)
            hidden = sample_hidden(rbm, visible, stream, self.buffers)
        return visible, hidden

    def visible_mean(self, rbm, hidden):
        """Return E(x | h), in its own buffer."""
        mean = visible_activation(rbm, hidden, self.shown)
        kernels_for(mean).bernoulli_mean(mean, rbm.b)
        return mean

    def after_sample(self, rbm, state, visible, hidden) -> None:
        """Update the state after a sample; by default do nothing."""
