"""Where chains start whose number is not that of the mini-batch's rows."""

import numpy as np

from rbmbench.gibbs import Population
from rbmbench.kernels import home_of


def chain_starts(positive, chains, stream, buffers):
    if chains is None:
        return positive
    replicas, rows = positive.visible.shape[:2]
    index = (home_of(positive.hidden).uniforms(stream.next(), chains, np.float64) * rows).astype(np.int64)
    index += rows * np.arange(replicas)[:, None]

    def gathered(part):
        return np.ascontiguousarray(part).reshape(replicas * rows, -1)[index]

    return Population(gathered(positive.visible), gathered(positive.hidden))
