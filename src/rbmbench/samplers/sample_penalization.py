# SPDX-License-Identifier: BSD-3-Clause
"""Sample penalization: rates-FPCD without rates.

    theta_F <- alpha theta_F - eps_F (x h', x, h)

Only the decay limits theta_F: with alpha = 1 the samples drift towards states in which all units are off. (By the
paper they converge to a uniform distribution.)

Source: Breuleux, Bengio, Vincent 2011, section 4.
Shapes: as in `rbmbench.samplers.rates_fpcd`.
"""

from rbmbench.samplers._base import REGISTRY, no_rates
from rbmbench.samplers.rates_fpcd import RatesFPCD


@REGISTRY.register
class SamplePenalization(RatesFPCD):
    """Sample penalization with ``k`` steps per sample; ``fast_rate`` is eps_F, ``decay`` alpha (or one per replica)."""

    def __init__(self, fast_rate: float = 0.01, decay: float = 0.95, k: int = 1):
        super().__init__(fast_rate, decay, k)

    def rates(self, rbm, data):
        return no_rates(rbm)
