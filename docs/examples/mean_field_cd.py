"""Mean-field contrastive divergence: CD-k with means instead of samples.

Source: Welling and Hinton 2002.
"""

from rbmbench.base.errors import SettingsError
from rbmbench.estimators import REGISTRY, Estimator
from rbmbench.model.gibbs import Population


@REGISTRY.register
class MeanFieldCD(Estimator):
    """CD-k with means; ``k`` is the number of mean-field steps, at least 1."""

    def __init__(self, k: int = 1):
        super().__init__()
        if not isinstance(k, int) or k < 1:
            raise SettingsError(f"option 'k': must be an integer >= 1, got {k!r}")
        self.k = k

    def negative_phase(self, rbm, positive, state, stream):
        """Iterate v = p(v=1|h), h = p(h=1|v) k times from the mini-batch."""
        hidden = positive.hidden
        for _ in range(self.k):
            visible = rbm.visible_mean(hidden)
            hidden = rbm.hidden_mean(visible)
        return Population(visible, hidden), state, {}
