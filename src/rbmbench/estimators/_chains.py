# SPDX-License-Identifier: BSD-3-Clause
"""Initial states of negative phases with more or fewer chains than rows in the mini-batch.

Source: Qiu, Zhang, Wang 2020, section 6: 1000 chains from random training rows for any mini-batch.
"""

import numpy as np

from rbmbench.base.registry import positive_integer
from rbmbench.base.streams import Stream
from rbmbench.kernels import Array, kernels_for
from rbmbench.model.gibbs import Buffers, Population


def number_of_chains(chains: object) -> int | None:
    """Return the option ``chains`` if it is None or an integer >= 1, else raise a `SettingsError`."""
    return None if chains is None else positive_integer("chains", chains)


def chain_starts(positive: Population, chains: int | None, stream: Stream, buffers: Buffers) -> Population:
    """Return initial rows of chains and their hidden means, (replicas, chains, m) and (replicas, chains, n).

    They are drawn from the mini-batch ``positive`` uniformly with replacement, which takes one draw of the stream; if
    ``chains`` is None, they are the mini-batch itself.
    """
    if chains is None:
        return positive
    replicas, rows, _ = positive.hidden.shape
    uniforms = kernels_for(positive.hidden).uniforms(stream.next(), chains, np.float64)
    index = (uniforms * rows).astype(np.int64)
    index += rows * np.arange(replicas, like=index)[:, None]
    visible = _gathered(positive.visible, index, buffers, "chains' first visible")
    return Population(visible, _gathered(positive.hidden, index, buffers, "chains' first hidden mean"))


def _gathered(states: Array, index: Array, buffers: Buffers, name: str) -> Array:
    out = buffers.get(name, (*index.shape, states.shape[-1]), states)
    out[...] = np.take(states.reshape(-1, states.shape[-1]), index, axis=0)
    return out
