# SPDX-License-Identifier: BSD-3-Clause
"""Samples of RBMs by parallel tempering from uniform states, without any data.

Source: see `rbmbench.samplers.parallel_tempering`, which draws streams of samples from training rows.
"""

import numpy as np

from rbmbench.base.registry import positive_integer
from rbmbench.base.settings import MOST_CHAINS
from rbmbench.base.streams import Purpose, Stream
from rbmbench.kernels import kernels_for, on_host
from rbmbench.model.rbm import RBM


def tempered_samples(rbm: RBM, count: int, seed: int, sweeps: int, temperatures: int) -> np.ndarray:
    """Return the states of ``count`` sets of tempered chains after ``sweeps`` sweeps, uint8 (replicas, count, m).

    The RBM has one leading axis of replicas; replica r takes the random numbers of trial r. For the arguments and
    errors see `RBM.sample`.
    """
    count = positive_integer("count", count, most=MOST_CHAINS)
    temperatures = positive_integer("temperatures", temperatures, least=2)
    stream = Stream(positive_integer("seed", seed, 0, 2**32 - 1), range(len(rbm.W)), Purpose.SAMPLES)
    betas = np.linspace(0, 1, temperatures, dtype=rbm.W.dtype)
    kernels = kernels_for(rbm.W)
    shape = len(rbm.W), count, temperatures, rbm.visible_units
    uniforms = kernels.uniforms(stream.next(), count * temperatures * rbm.visible_units, rbm.W.dtype)
    visible = (uniforms < 0.5).astype(rbm.W.dtype).reshape(shape)
    samples = np.empty((len(rbm.W), count, 1, rbm.visible_units), rbm.W.dtype, like=rbm.W)
    for _ in range(positive_integer("sweeps", sweeps)):
        kernels.tempered_sweeps(rbm.W, rbm.b, rbm.c, betas, stream.next(), visible, samples)
    return on_host(samples[:, :, 0]).astype(np.uint8)
