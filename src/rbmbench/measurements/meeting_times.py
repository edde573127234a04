"""Stopping times of coupled Gibbs chains of one random model.

Every entry of W, b and c is normal with mean 0; every visible unit of the starts is a fair coin. All couplings of one
seed have the same model and the same starts.

Source: Qiu, Zhang, Wang 2020, appendix A.2 and Figure 5.
"""

import numpy as np

from rbmbench.base.settings import CouplingSettings
from rbmbench.base.streams import Purpose, Stream
from rbmbench.kernels import kernels_for
from rbmbench.model.rbm import initial_rbm
from rbmbench.samplers import stopping_times

__all__ = ["coupled_stopping_times", "start_of"]


def start_of(settings: CouplingSettings):
    """Return the model (1, m, n), ..., float32, and the visible states (1, replications, m) where its chains start."""
    model = Stream(settings.seed, [0], Purpose.INITIAL_PARAMETERS)
    rbm = initial_rbm(settings.visible, settings.hidden, model, "normal", settings.width)
    coins = Stream(settings.seed, [0], Purpose.DATA).next()
    shape = (1, settings.replications, settings.visible)
    uniforms = kernels_for(rbm.W).uniforms(coins, shape[1] * shape[2], np.float64).reshape(shape)
    return rbm, (uniforms < 0.5).astype(rbm.W.dtype)


def coupled_stopping_times(settings: CouplingSettings) -> np.ndarray:
    """Return the steps that each pair of chains took to meet: integers (replications,).

    A pair that has not met after ``longest`` steps is cut there, and has at least that number.
    """
    rbm, start = start_of(settings)
    stream = Stream(settings.seed, [0], Purpose.TRAINING)
    return stopping_times(rbm, start, settings.coupling, settings.longest, stream)[0]
