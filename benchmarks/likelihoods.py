# SPDX-License-Identifier: BSD-3-Clause
"""Partition functions against the plain sum, and against the matrix products of a step."""

import numpy as np

from rbmbench import likelihood
from rbmbench.base.streams import Stream
from rbmbench.kernels import kernels_for
from rbmbench.kernels import numpy as numpy_kernels
from rbmbench.model.rbm import initial_rbm
from rbmbench.training.timing import made_data
from timing import BINARY, DENSE, FLOOR, OTHER, PRODUCTS, Clock, line

FEW, MANY = 20, 60
BLOCK = 512


def enumeration(clock: Clock) -> list[dict]:
    """Compare the exact log Z of a 784 x 16 model with the plain sum."""
    rbm = initial_rbm(784, 16, Stream(0, [0]), kind="normal", width=0.3)
    W, b, c = (p[0].astype(np.float64) for p in (rbm.W, rbm.b, rbm.c))
    ours, plain = clock.best(
        lambda: likelihood.exact_log_partition(rbm), lambda: numpy_kernels.hidden_log_weights(W, b, c), rounds=5
    )
    return [line("Exact log Z, 784x16", ours, "straightforward NumPy sum", OTHER, plain, "<= 0.02")]


def annealing(clock: Clock) -> list[dict]:
    """Compare an AIS step of 512 chains of a 784 x 500 model with its two matrix products.

    The time of a step is a difference of runs with many and with few temperatures, without constant overhead.
    """
    rbm = initial_rbm(784, 500, Stream(0, [0]), kind="normal", width=0.01)
    v, h = (made_data(512, units)[None].astype(np.float32) for units in (784, 500))
    v_W, h_W = np.empty_like(h), np.empty_like(v)

    def annealed(temperatures):
        return lambda: likelihood.ais_log_partition(rbm, particles=512, temperatures=temperatures, seed=0)

    def products(multiply):
        return lambda: (multiply(v, rbm.W, v_W), multiply(h, rbm.W.swapaxes(-1, -2), h_W))

    floors = products(np.matmul), products(kernels_for(v).multiply_binary)
    many, few, dense, binary = clock.best(annealed(MANY), annealed(FEW), *floors, rounds=15)
    label, step = "AIS step, 512 chains, 784x500", (many - few) / (MANY - FEW)
    return [line(label, step, DENSE, FLOOR, dense, "<= 0.60"), line(label, step, BINARY, PRODUCTS, binary)]


def rows(clock: Clock) -> list[dict]:
    """Compare the log-likelihood of as many rows as MNIST has, given log Z, with its float64 products.

    They are made in blocks that stay in the cache, once with the packing of the rows and once without.
    """
    rbm, data = initial_rbm(784, 16, Stream(0, [0]), kind="normal", width=0.1), made_data(60_000, 784)
    W, floats = rbm.W[0].astype(np.float64), data.astype(np.float64)
    out = np.empty((BLOCK, 16))

    def products():
        for start in range(0, len(floats), BLOCK):
            block = floats[start : start + BLOCK]
            np.matmul(block, W, out=out[: len(block)])

    packed = likelihood.PackedData(data, rbm.W)
    whole, again, dense = clock.best(
        lambda: likelihood.log_likelihood(rbm, data, 0.0), lambda: likelihood.log_likelihood(rbm, packed, 0.0), products
    )
    label = "Log-likelihood of 60 000 rows, 784x16, given log Z"
    once = f"{label}, rows packed before"
    return [line(label, whole, DENSE, FLOOR, dense, "<= 0.40"), line(once, again, DENSE, FLOOR, dense)]
