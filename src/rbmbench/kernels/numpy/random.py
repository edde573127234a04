# SPDX-License-Identifier: BSD-3-Clause
"""Philox4x32-10 in plain NumPy, and random numbers made from its words: uniforms and coins.

The uniforms of one draw are one flat sequence per replica, and so are its coins (16-bit numbers); entry (row, unit) of
a (rows, units) array takes position row * units + unit. A coin decides nearly every Bernoulli sample; 32 further bits
are drawn for the others, for a resolution of 2**-48.
"""

import numpy as np

from rbmbench.base.streams import Draw, RowKeys

MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
WEYL = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)
LOW = np.uint64(0xFFFFFFFF)
REFINED, ROW = np.uint32(0x80000000), np.uint32(0x40000000)  # bits of the purpose for further numbers of a draw
CHUNK = 64  # positions served by 16 Philox blocks, so that vector code writes each of the 4 words contiguously


def philox(counter, key):
    """Return the four output words of Philox4x32-10 (Salmon et al. 2011).

    ``counter`` are 4 uint32 arrays, ``key`` 2 of them, broadcast against the counters.
    """
    c0, c1, c2, c3 = (np.asarray(word, dtype=np.uint64) for word in counter)
    k0, k1 = (np.asarray(word, dtype=np.uint64) for word in key)
    for _ in range(10):
        p0, p1 = MULTIPLIERS[0] * c0, MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (p1 >> np.uint64(32)) ^ c1 ^ k0, p1 & LOW, (p0 >> np.uint64(32)) ^ c3 ^ k1, p0 & LOW
        k0, k1 = (k0 + np.uint64(WEYL[0])) & LOW, (k1 + np.uint64(WEYL[1])) & LOW
    return tuple(word.astype(np.uint32) for word in (c0, c1, c2, c3))


def uniforms(draw: Draw, count: int, dtype=np.float32) -> np.ndarray:
    """Return the first ``count`` uniforms of a draw for every replica, (replicas, count), on [0, 1).

    Position p is served by Philox block 16 * (p // 64) + p % 16, word (p // 16) % 4. A word x becomes (x >> 8) * 2**-24
    in float32 and (x + 1/2) * 2**-32 in float64.
    """
    chunks = -(-count // CHUNK)
    bits = _words(draw, chunks).reshape(len(draw.trials), chunks * CHUNK)[:, :count]
    if dtype == np.float32:
        return (bits >> np.uint32(8)).astype(np.float32) * np.float32(2**-24)
    return (bits + 0.5) * 2.0**-32


def coins(draw: Draw, count: int) -> np.ndarray:
    """Return the first ``count`` coins of a draw for every replica: 16-bit numbers, uint32 (replicas, count).

    Position p is served by Philox block 16 * (p // 128) + p % 16, word (p // 16) % 4: the low half if p % 128 < 64,
    else the high half.
    """
    chunks = -(-count // (2 * CHUNK))
    bits = _words(draw, chunks)
    halves = np.stack([bits & np.uint32(0xFFFF), bits >> np.uint32(16)], axis=2)
    return halves.reshape(len(draw.trials), chunks * 2 * CHUNK)[:, :count]


def toss(draw: Draw, mean: np.ndarray) -> np.ndarray:
    """Return whether the uniform (k + r) / 65536 of each position is below ``mean``, bool (replicas, ...).

    k is the coin of position p. r, uniform on (0, 1), is drawn only if k does not decide: it is (x + 1/2) * 2**-32 for
    the first word x of Philox block p of the same draw with the top bit of the purpose set.
    """
    draw.check(len(mean))
    flat = mean.reshape(len(mean), -1)
    x = flat * 65536.0 - coins(draw, flat.shape[1])
    result = x >= 1
    replica, position = np.nonzero((x > 0) & (x < 1))
    result[replica, position] = _refinements(draw, replica, position) < x[replica, position]
    return result.reshape(mean.shape)


def toss_rows(draw: Draw, keys: RowKeys, mean: np.ndarray) -> np.ndarray:
    """Return whether the uniform of each unit is below ``mean``, bool (rows, units): `toss` for rows of many replicas.

    Unit i of a row takes position row_id * units + i of its replica; mirrored rows take 1 - u for each uniform u.
    """
    units = mean.shape[1]
    position = keys.row_id[:, None] * units + np.arange(units)
    words = _words_at(draw, keys.replica[:, None], 16 * (position // (2 * CHUNK)) + position % 16)
    k = np.choose(position // 16 % 4, words)
    k = np.where(position % (2 * CHUNK) < CHUNK, k & np.uint32(0xFFFF), k >> np.uint32(16))
    x = mean * 65536.0 - np.where(keys.mirrored[:, None], 65535 - k, k)
    result = x >= 1
    row, unit = np.nonzero((x > 0) & (x < 1))
    r = _refinements(draw, keys.replica[row], position[row, unit])
    result[row, unit] = np.where(keys.mirrored[row], 1 - r, r) < x[row, unit]
    return result


def row_uniforms(draw: Draw, keys: RowKeys) -> tuple[np.ndarray, np.ndarray]:
    """Return two uniforms per row, float64 (rows,): from the first two words of the Philox block with number row_id."""
    words = _words_at(draw._replace(purpose=draw.purpose | ROW), keys.replica, keys.row_id)
    u = ((word + 0.5) * 2.0**-32 for word in words[:2])
    return tuple(np.where(keys.mirrored, 1 - uniform, uniform) for uniform in u)


def _refinements(draw: Draw, replica, position) -> np.ndarray:
    """Return the uniforms r for positions whose coins do not decide."""
    words = _words_at(draw._replace(purpose=draw.purpose | REFINED), replica, position)
    return (words[0] + 0.5) * 2.0**-32


def _words_at(draw: Draw, replica, block) -> tuple:
    """Return the output words of the Philox blocks of replicas; both are arrays, broadcast against each other."""
    low, high = np.uint32(draw.number & LOW), np.uint32(draw.number >> np.uint64(32))
    return philox((block, low, high, draw.purpose), (draw.seed, draw.trials[replica]))


def _words(draw: Draw, chunks: int) -> np.ndarray:
    """Return the output words of the first 16 * chunks Philox blocks: (replicas, chunks, words, 16)."""
    words = _words_at(draw, np.arange(len(draw.trials))[:, None], np.arange(16 * chunks, dtype=np.uint32))
    return np.stack([word.reshape(len(draw.trials), chunks, 16) for word in words], axis=2)
