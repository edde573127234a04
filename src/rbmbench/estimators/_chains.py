"""Where the chains of a negative phase start, when they are not as many as the mini-batch has rows.

Source: Qiu, Zhang, Wang 2020, section 6: 1000 chains from random training rows, whatever the mini-batch.
"""

from typing import Any

import numpy as np

from rbmbench.base.registry import positive_integer
from rbmbench.base.streams import Stream
from rbmbench.kernels import kernels_for
from rbmbench.model.gibbs import Buffers, Population

__all__ = ["chain_starts", "number_of_chains"]

Array = Any


def number_of_chains(chains: Any) -> int | None:
    """Return the option ``chains``, None or an integer of at least 1, else raise a `SettingsError` that names it."""
    return None if chains is None else positive_integer("chains", chains)


def chain_starts(positive: Population, chains: int | None, stream: Stream, buffers: Buffers) -> Population:
    """Return the rows that chains start at, with their hidden means, which are gathered and not computed again.

    Parameters
    ----------
    positive : Population
        The mini-batch (replicas, batch, m) and its hidden means (replicas, batch, n).
    chains : int or None
        How many rows each replica draws from its mini-batch, uniformly and with replacement; None: every row once,
        which is ``positive`` itself.
    stream : Stream
        One draw is taken, none where ``chains`` is None.
    buffers : Buffers

    Returns
    -------
    Population
        (replicas, chains, m) and (replicas, chains, n), without weights.
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
    """Return states (replicas, rows, units) at an index (replicas, chains) into the rows of all replicas."""
    out = buffers.get(name, (*index.shape, states.shape[-1]), states)
    out[...] = np.take(states.reshape(-1, states.shape[-1]), index, axis=0)
    return out
