# SPDX-License-Identifier: BSD-3-Clause
"""Block Gibbs sampling: a chain of x ~ p(x|h), h ~ p(h|x), of which every k-th state is a sample.

Source: Breuleux, Bengio, Vincent 2011, sections 2 and 5.1. A sample is the pair (x, h) with h drawn from p(h|x).
Shapes: state "hidden" (replicas, chains, n).
"""

from rbmbench.base.registry import positive_integer
from rbmbench.kernels import kernels_for
from rbmbench.model.gibbs import Buffers, sample_hidden, sample_visible, visible_activation
from rbmbench.model.minibatches import random_rows
from rbmbench.samplers._base import REGISTRY, Sampler


@REGISTRY.register
class Gibbs(Sampler):
    """Gibbs chains from random training rows, with ``k`` steps per sample.

    Base class of samplers that change the model while sampling: they keep the parameters in the state and override
    `after_sample`.
    """

    def __init__(self, k: int = 1):
        super().__init__()
        self.k = positive_integer("k", k)
        self.shown = Buffers()

    def start(self, rbm, data, chains, stream):
        """Start the chains at random training rows."""
        visible = random_rows(data, chains, rbm.W, stream)
        return {"hidden": sample_hidden(rbm, visible, stream, self.buffers).copy()}

    def draw(self, rbm, state, stream, samples, means=None):
        """Run the chains, k steps per sample."""
        rbm, hidden = self.parameters(rbm, state), state["hidden"]
        for number in range(samples.shape[2]):
            visible, hidden = self.transition(rbm, state, hidden, stream)
            samples[:, :, number] = visible
            if means is not None:
                means[:, :, number] = self.visible_mean(rbm, hidden)
            self.after_sample(rbm, state, visible, hidden)
        state["hidden"][...] = hidden

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
