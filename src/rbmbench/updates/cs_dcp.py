# SPDX-License-Identifier: BSD-3-Clause
"""S-DCP with inner steps along the centered gradient (CS-DCP).

Like `rbmbench.updates.sdcp`, with the gradient of `rbmbench.updates.centered`: in each inner step the offsets move
towards the means of the mini-batch (of p(h|v) at theta_t), and then

    W += rate (<(v - mu_0)(h - lambda_0)'>_data - <(v - mu_l)(h - lambda_l)'>_model),

where states and offsets of the first part are those of l = 0. With d = 1 it is the centered gradient.

Source: Upadhya, Sastry 2017, algorithm 4.
Shapes: memory "visible_offset" (replicas, m), "hidden_offset" (replicas, n).
"""

from rbmbench.base.registry import positive_integer
from rbmbench.updates import REGISTRY
from rbmbench.updates._base import InnerSteps
from rbmbench.updates.centered import Centered


@REGISTRY.register
class CSDCP(InnerSteps, Centered):
    """CS-DCP; ``inner_steps`` is d, the option ``k`` of the estimator K', ``sliding`` nu of both layers.

    Parameters are those of the ordinary RBM, diagnostics those of the last inner step.
    """

    def __init__(self, inner_steps: int = 6, sliding: float = 0.01):
        super().__init__(sliding)
        self.inner_steps = positive_integer("inner_steps", inner_steps)
