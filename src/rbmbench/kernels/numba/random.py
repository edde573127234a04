# SPDX-License-Identifier: BSD-3-Clause
"""Philox4x32-10, vectorised: 16 counter blocks give 64 uniforms or 128 coins."""

import numpy as np
from numba import float32, types, uint32, uint64
from numba.extending import overload

from rbmbench.base.streams import Draw
from rbmbench.kernels.numba.compiling import compiled

M0, M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
W0, W1 = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)
LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
SHORT = np.float32(2.0**-24)
SHORT_MASK = np.uint64(0xFFFF)
REFINED, ROW = np.uint32(0x80000000), np.uint32(0x40000000)


def _uniform(word, out):
    """Convert an output word to a uniform of the type of ``out``."""


@overload(_uniform, inline="always")
def _choose_uniform(word, out):
    if out.dtype == types.float32:
        return lambda word, out: float32(np.int32((word & LOW) >> np.uint64(8))) * SHORT
    return lambda word, out: (np.float64(word & LOW) + 0.5) * 2.0**-32


@compiled(inline="always")
def _philox(c0, number, purpose, seed, trial):
    """Return the four output words for counter (c0, number, purpose) and key (seed, trial), in the low halves.

    Words are held in 64-bit lanes with arbitrary upper halves, which compiles to vector products.
    """
    c1, c2, c3 = number & LOW, number >> HALF, uint64(purpose)
    k0, k1 = uint64(seed), uint64(trial)
    for _ in range(10):
        p0, p1 = M0 * (c0 & LOW), M1 * (c2 & LOW)
        c0, c2 = (p1 >> HALF) ^ (c1 ^ k0), (p0 >> HALF) ^ (c3 ^ k1)
        c1, c3 = p1, p0
        k0, k1 = uint64(uint32(k0) + W0) & LOW, uint64(uint32(k1) + W1) & LOW
    return c0, c1, c2, c3


@compiled()
def _half(word, shift, out):
    return out.dtype.type(np.int32((word >> shift) & SHORT_MASK))


@compiled(allocates=False)
def fill_coins(seed, trial, number, purpose, start, stop, out):
    """Write the coins (16-bit numbers, as floats) of positions ``start`` to ``stop``; return the index of the first.

    ``out`` must have room for stop - start + 254 values, since whole chunks of 128 are written.
    """
    low, high = uint64(0), uint64(16)
    first = start // 128
    for chunk in range((stop + 127) // 128 - first):
        block, o = uint64((first + chunk) * 16), chunk * 128
        for lane in range(16):
            c0, c1, c2, c3 = _philox(block + uint64(lane), number, purpose, seed, trial)
            out[o + lane] = _half(c0, low, out)
            out[o + 16 + lane] = _half(c1, low, out)
            out[o + 32 + lane] = _half(c2, low, out)
            out[o + 48 + lane] = _half(c3, low, out)
            out[o + 64 + lane] = _half(c0, high, out)
            out[o + 80 + lane] = _half(c1, high, out)
            out[o + 96 + lane] = _half(c2, high, out)
            out[o + 112 + lane] = _half(c3, high, out)
    return start - first * 128


@compiled(allocates=False)
def refinement(seed, trial, number, purpose, position):
    """Return the uniform r for a position whose coin does not decide."""
    word = _philox(uint64(position), number, purpose | REFINED, seed, trial)[0]
    return (np.float64(word & LOW) + 0.5) * 2.0**-32


@compiled(allocates=False)
def row_uniforms(seed, trial, number, purpose, row_id, mirrored):
    """Return the two uniforms of a row."""
    c0, c1, _, _ = _philox(uint64(row_id), number, purpose | ROW, seed, trial)
    u, u2 = (np.float64(c0 & LOW) + 0.5) * 2.0**-32, (np.float64(c1 & LOW) + 0.5) * 2.0**-32
    return (1.0 - u, 1.0 - u2) if mirrored else (u, u2)


@compiled()
def fill_uniforms(seed, trial, number, purpose, start, stop, out):
    """Write the uniforms of positions ``start`` to ``stop``; return the index of the first in ``out``.

    ``out`` must have room for stop - start + 126 values, since whole chunks of 64 are written.
    """
    first = start // 64
    for chunk in range((stop + 63) // 64 - first):
        block, o = uint64((first + chunk) * 16), chunk * 64
        for lane in range(16):
            c0, c1, c2, c3 = _philox(block + uint64(lane), number, purpose, seed, trial)
            out[o + lane] = _uniform(c0, out)
            out[o + 16 + lane] = _uniform(c1, out)
            out[o + 32 + lane] = _uniform(c2, out)
            out[o + 48 + lane] = _uniform(c3, out)
    return start - first * 64


@compiled()
def _uniforms(seed, trials, number, purpose, out):
    for r in range(out.shape[0]):
        fill_uniforms(seed, trials[r], number, purpose, 0, out.shape[1], out[r])


def uniforms(draw: Draw, count: int, dtype=np.float32) -> np.ndarray:
    out = np.empty((len(draw.trials), -(-count // 64) * 64), dtype)
    _uniforms(draw.seed, draw.trials, draw.number, draw.purpose, out)
    return out[:, :count]
