# SPDX-License-Identifier: BSD-3-Clause
"""Samples of RBMs by parallel tempering from uniform states, without any data.

Source: see `rbmbench.samplers.parallel_tempering`, which draws streams of samples from training rows.
"""

import numpy as np

from rbmbench.base.registry import positive_integer
from rbmbench.base.settings import MOST_CHAINS
from rbmbench.base.streams import Purpose, Stream
from rbmbench.kernels import kernels_for, on_host
from rbmbench.model.rbm import RBM, unchecked_rbm


def check_budget(count: int, seed: int, sweeps: int, temperatures: int) -> None:
    """Raise a `SettingsError` for an argument of `RBM.sample` that is out of range."""
    positive_integer("count", count, most=MOST_CHAINS)
    positive_integer("seed", seed, 0, 2**32 - 1)
    positive_integer("sweeps", sweeps)
    positive_integer("temperatures", temperatures, least=2)


def tempered_samples(
    rbm: RBM, count: int, seed: int, sweeps: int, temperatures: int, first_trial: int = 0
) -> np.ndarray:
    """Return the states of ``count`` sets of tempered chains after ``sweeps`` sweeps, uint8 (replicas, count, m).

    The RBM has one leading axis of replicas; replica r takes the random numbers of trial ``first_trial`` + r. For the
    arguments, as `check_budget` allows them, see `RBM.sample`.
    """
    stream = Stream(seed, range(first_trial, first_trial + len(rbm.W)), Purpose.SAMPLES)
    betas = np.linspace(0, 1, temperatures, dtype=rbm.W.dtype)
    kernels = kernels_for(rbm.W)
    shape = len(rbm.W), count, temperatures, rbm.visible_units
    uniforms = kernels.uniforms(stream.next(), count * temperatures * rbm.visible_units, rbm.W.dtype)
    visible = (uniforms < 0.5).astype(rbm.W.dtype).reshape(shape)
    samples = np.empty((len(rbm.W), count, 1, rbm.visible_units), rbm.W.dtype, like=rbm.W)
    for _ in range(sweeps):
        kernels.tempered_sweeps(rbm.W, rbm.b, rbm.c, betas, stream.next(), visible, samples)
    return on_host(samples[:, :, 0]).astype(np.uint8)


def clamped_samples(rbm: RBM, held: np.ndarray, count: int, seed: int, sweeps: int, temperatures: int) -> np.ndarray:
    """Return samples of the free units of rows given those that are held, uint8 (replicas, rows, count, m).

    ``held`` (rows, m) has 0, 1, and NaN for free units. Given the held units v_H, the free ones are an RBM:
    its weights and visible bias are those of the free units, its hidden bias is c + v_H W_H. Row i of replica r takes
    the random numbers of trial i * replicas + r.
    """
    samples = np.empty((len(rbm.W), len(held), count, rbm.visible_units), np.uint8)
    W, b, c = rbm.on_host().parameters
    for number, row in enumerate(held):
        free = np.flatnonzero(np.isnan(row))
        samples[:, number] = np.where(np.isnan(row), 0, row).astype(np.uint8)
        if not len(free):
            continue
        on = np.flatnonzero(row == 1)
        of_free = unchecked_rbm(
            np.ascontiguousarray(W[:, free]), np.ascontiguousarray(b[:, free]), c + W[:, on].sum(axis=1)
        ).like(rbm.W)
        first = number * len(rbm.W)
        samples[:, number][..., free] = tempered_samples(of_free, count, seed, sweeps, temperatures, first)
    return samples
