# SPDX-License-Identifier: BSD-3-Clause
"""Counts of Hamming distances between binary states, by exclusive or and population count of packed states."""

import numpy as np
from numba import types
from numba.extending import intrinsic

from rbmbench.kernels.numba.compiling import compiled
from rbmbench.kernels.numba.products import packed_rows

BLOCK = 1024  # samples that stay in the first-level cache while all rows pass


@intrinsic
def _ones(typing_context, word):
    """Return the number of bits that are set."""
    return types.uint64(types.uint64), lambda context, builder, signature, arguments: builder.ctpop(arguments[0])


@compiled()
def _add_distances(word, words, distance):
    for s in range(distance.size):
        distance[s] += np.int32(_ones(word ^ words[s]))


@compiled()
def _count(rows, samples, counts):
    """Count the distances between packed rows (words, rows) and samples (words, samples) of one replica."""
    distance = np.empty(BLOCK, np.int32)
    for first in range(0, samples.shape[1], BLOCK):
        last = min(samples.shape[1], first + BLOCK)
        found = distance[: last - first]
        for row in range(rows.shape[1]):
            found[:] = 0
            for w in range(len(rows)):
                _add_distances(rows[w, row], samples[w, first:last], found)
            count = counts[row]
            for s in range(found.size):
                count[found[s]] += 1


def count_distances(packed, samples, counts):
    for of_replica, count in zip(samples, counts, strict=True):
        _count(packed.words, packed_rows(of_replica).words, count)
