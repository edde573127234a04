# SPDX-License-Identifier: BSD-3-Clause
"""Mini-batches as a pure function of (seed, trial, iteration): blocks of a random permutation for each epoch.

Source: Krause, Fischer, Igel, section 4.1, where the batch size divides the number of rows; otherwise the remaining
rows are not used in that epoch.
"""

import numpy as np

from rbmbench.base.errors import SettingsError
from rbmbench.base.registry import positive_integer
from rbmbench.base.streams import Purpose, Stream
from rbmbench.kernels import kernels_for
from rbmbench.model.rows import binary_rows
from rbmbench.model.sparse_rows import array_like, gathered


def random_rows(data, rows: int, like, stream: Stream):
    """Return rows drawn from ``data`` with replacement, (replicas, rows, m), with array type and dtype of ``like``.

    ``data`` (any rows, m) holds 0 and 1, and ``like`` (replicas, m, ...) are parameters; a `DataError` is raised if
    they do not fit, a `SettingsError` if ``rows`` is not a positive number. One draw of the stream is taken.
    """
    rows = positive_integer("rows", rows)
    data = binary_rows(data, units=like.shape[1])
    draw = stream.next()
    draw.check(len(like))
    index = (kernels_for(like).uniforms(draw, rows, np.float64) * len(data)).astype(np.int64)
    out = np.empty((len(index), rows, data.shape[1]), like.dtype, like=like)
    gathered(data, index, out)
    return out


class MiniBatches:
    """The mini-batches of some trials, one replica each.

    Parameters
    ----------
    data : array or SparseRows, shape (rows, m), uint8
    batch : int
        Rows of a mini-batch. If equal to the rows of ``data``, they are used in their given order.
    seed : int
    trials : sequence of int
    dtype : type
        Type of the mini-batches.

    Raises
    ------
    SettingsError
        If the mini-batch is larger than the data set.
    """

    def __init__(self, data, batch: int, seed: int, trials, dtype=np.float32):
        if batch > len(data):
            raise SettingsError(f"batch: must be at most the {len(data)} rows of the data set, got {batch}")
        self.data, self.batch, self._seed = data, batch, seed
        self._trials = np.asarray(trials, np.uint32)
        self.per_epoch = len(data) // batch
        self._epoch = -1
        self._order = np.empty((0, 0), np.int64)
        shape = (len(self._trials), batch, data.shape[1])
        if batch == len(data):
            self._out = np.broadcast_to(data.astype(dtype), shape)
        else:
            self._out = np.empty(shape, dtype, like=array_like(data))

    def at(self, iteration: int):
        """Return the mini-batch of an iteration (from 0), (replicas, batch, m); valid until the next call."""
        if self.batch == len(self.data):
            return self._out
        index, _ = next(self.indices(iteration, iteration + 1))
        gathered(self.data, index, self._out)
        return self._out

    def indices(self, first: int, last: int):
        """Yield the row indices of the mini-batches ``first`` to ``last`` - 1, one epoch at a time, and their number.

        The indices, int64 (replicas, mini-batches * batch), are valid until the next step; None means the whole
        data set.
        """
        if self.batch == len(self.data):
            yield None, last - first
            return
        while first < last:
            epoch, block = divmod(first, self.per_epoch)
            iterations = min(last - first, self.per_epoch - block)
            self.draw(epoch)
            yield self._order[:, block * self.batch : (block + iterations) * self.batch], iterations
            first += iterations

    def draw(self, epoch: int) -> None:
        """Draw the order of the rows in an epoch, unless it is that of the last call; none for the whole data set."""
        if epoch != self._epoch and self.batch < len(self.data):
            stream = Stream(self._seed, self._trials, Purpose.MINI_BATCHES, epoch)
            keys = kernels_for(self._out).uniforms(stream.next(), len(self.data), np.float64)
            self._order, self._epoch = np.argsort(keys, axis=-1, kind="stable"), epoch
