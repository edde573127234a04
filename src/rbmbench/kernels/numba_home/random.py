"""Philox4x32-10 uniforms, vectorised: 16 counter blocks at a time fill 64 positions."""

import numpy as np
from numba import float32, njit, types, uint32, uint64
from numba.extending import overload

from rbmbench.streams import Draw

__all__ = ["fill_uniforms", "uniforms"]

M0, M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
W0, W1 = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)
LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
SHORT = np.float32(2.0**-24)


def _uniform(word, out):
    """Turn one output word into a uniform of the type of ``out``."""


@overload(_uniform, inline="always")
def _choose_uniform(word, out):
    if out.dtype == types.float32:
        return lambda word, out: float32(np.int32((word & LOW) >> np.uint64(8))) * SHORT
    return lambda word, out: (np.float64(word & LOW) + 0.5) * 2.0**-32


@njit(cache=True, nogil=True)
def _fill_chunks(seed, trial, number, purpose, first_chunk, chunks, out):
    """Write the uniforms of whole chunks of 64 positions to ``out``."""
    low, high = number & LOW, number >> HALF
    for chunk in range(chunks):
        block = uint64((first_chunk + chunk) * 16)
        o = chunk * 64
        for lane in range(16):
            # Words live in 64-bit lanes, whose upper halves are ignored: the form that compiles to plain vector products.
            c0, c1, c2, c3 = block + uint64(lane), low, high, uint64(purpose)
            k0, k1 = uint64(seed), uint64(trial)
            for _ in range(10):
                p0, p1 = M0 * (c0 & LOW), M1 * (c2 & LOW)
                c0, c2 = (p1 >> HALF) ^ (c1 ^ k0), (p0 >> HALF) ^ (c3 ^ k1)
                c1, c3 = p1, p0
                k0, k1 = uint64(uint32(k0) + W0) & LOW, uint64(uint32(k1) + W1) & LOW
            out[o + lane] = _uniform(c0, out)
            out[o + 16 + lane] = _uniform(c1, out)
            out[o + 32 + lane] = _uniform(c2, out)
            out[o + 48 + lane] = _uniform(c3, out)


@njit(cache=True, nogil=True)
def fill_uniforms(seed, trial, number, purpose, start, stop, out):
    """Write the uniforms of positions ``start`` to ``stop`` somewhere in ``out``; return where position start lies.

    ``out`` must hold stop - start + 126 values, since whole chunks are written.
    """
    first = start // 64
    _fill_chunks(seed, trial, number, purpose, first, (stop + 63) // 64 - first, out)
    return start - first * 64


@njit(cache=True, nogil=True)
def _uniforms(seed, trials, number, purpose, out):
    for r in range(out.shape[0]):
        fill_uniforms(seed, trials[r], number, purpose, 0, out.shape[1], out[r])


def uniforms(draw: Draw, count: int, dtype=np.float32) -> np.ndarray:
    """See `rbmbench.kernels.numpy_home.uniforms`."""
    out = np.empty((len(draw.trials), -(-count // 64) * 64), dtype)
    _uniforms(draw.seed, draw.trials, draw.number, draw.purpose, out)
    return out[:, :count]
