# SPDX-License-Identifier: BSD-3-Clause
"""Stopping times of coupled Gibbs chains of one random model.

The entries of W, b and c are normal with mean 0; the initial visible units are fair coins. For one seed, all couplings
have the same model and the same initial states.

Source: Qiu, Zhang, Wang 2020, appendix A.2 and Figure 5.
"""

import numpy as np

from rbmbench.base.settings import CouplingSettings
from rbmbench.base.streams import Purpose, Stream
from rbmbench.kernels import kernels_for
from rbmbench.model.rbm import initial_rbm
from rbmbench.samplers import stopping_times
from rbmbench.training.checkpoint import Checkpointer, identity

PAIRS = 250
"""Pairs of chains that run together. Results depend on it by rounding alone: pairs have their own random numbers."""


def start_of(settings: CouplingSettings):
    """Return the model (1, m, n), ..., float32, and the initial visible states (1, replications, m)."""
    model = Stream(settings.seed, [0], Purpose.INITIAL_PARAMETERS)
    rbm = initial_rbm(settings.visible, settings.hidden, model, "normal", settings.width)
    coins = Stream(settings.seed, [0], Purpose.DATA).next()
    shape = (1, settings.replications, settings.visible)
    uniforms = kernels_for(rbm.W).uniforms(coins, shape[1] * shape[2], np.float64).reshape(shape)
    return rbm, (uniforms < 0.5).astype(rbm.W.dtype)


def coupled_stopping_times(
    settings: CouplingSettings, checkpointer: Checkpointer | None = None, chosen: slice = slice(None)
) -> np.ndarray:
    """Return the number of steps that each pair took to meet, at most ``longest``: integers (pairs,).

    ``chosen`` are the sets of `PAIRS` pairs that are run, by default all, which are ``replications`` pairs.
    """
    checkpointer = checkpointer or Checkpointer()
    firsts = range(0, settings.replications, PAIRS)[chosen]
    saved = checkpointer.resume(identity(settings, {"firsts": np.array(firsts)}))
    rbm, start = start_of(settings)
    times = saved["times"] if saved else np.zeros(settings.replications, np.int64)
    for first in checkpointer.pieces(firsts, lambda: {"times": times}):
        pairs, stream = slice(first, first + PAIRS), Stream(settings.seed, [0], Purpose.TRAINING)
        times[pairs] = stopping_times(rbm, start[:, pairs], settings.coupling, settings.longest, stream, first)[0]
    return times[firsts.start : firsts.stop]
