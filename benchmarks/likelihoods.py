"""Partition functions against the plain sum, and against the matrix products of a step."""

import numpy as np

from rbmbench import likelihood
from rbmbench.base.streams import Stream
from rbmbench.kernels import numpy as numpy_kernels
from rbmbench.model.rbm import initial_rbm
from timing import FLOOR, OTHER, Clock, line

__all__ = ["annealing", "enumeration"]

FEW, MANY = 20, 60


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
    W = np.ascontiguousarray(rbm.W[0])
    v, h = np.zeros((512, 784), np.float32), np.zeros((512, 500), np.float32)
    v_W, h_W = np.empty_like(h), np.empty_like(v)

    def annealed(temperatures):
        return lambda: likelihood.ais_log_partition(rbm, particles=512, temperatures=temperatures, seed=0)

    def products():
        np.matmul(v, W, out=v_W)
        np.matmul(h, W.T, out=h_W)

    many, few, floor = clock.best(annealed(MANY), annealed(FEW), products, rounds=15)
    what = "AIS step, 512 chains, 784x500"
    return [line(what, (many - few) / (MANY - FEW), "its two matrix products", FLOOR, floor, "<= 1.20")]
