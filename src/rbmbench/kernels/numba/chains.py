# SPDX-License-Identifier: BSD-3-Clause
"""Gibbs chains in one compiled loop: states stay packed, and half steps are computed in 16 bits where that is exact.

The weights of a column are rounded to multiples of a step, so that sums of them fit int16. Such a sum is within a
known distance of the activation. A unit that its coin decides in the same way everywhere within that distance is
decided. The others, about one in a hundred, take a sum in float32 and, where that is too close as well, the activation
that `rbmbench.kernels.numba.products` computes, in the same order. So the states are those of `multiply_binary` and
`sample_bernoulli`, bit for bit. Models with large weights have wide steps, and use these kernels instead.
"""

from typing import NamedTuple

import numpy as np

from rbmbench.kernels import ways
from rbmbench.kernels.numba.bernoulli import _close, _sample_row
from rbmbench.kernels.numba.compiling import compiled
from rbmbench.kernels.numba.elementary import exp_minus
from rbmbench.kernels.numba.intrinsics import (
    GROUP,
    INTEGER_GROUP,
    LINE,
    WORD,
    add_looked_up,
    bits_on,
    decide_line,
    lowest_bit,
    sum_of_units_on,
    table_sums,
    write_states,
)
from rbmbench.kernels.numba.products import FEW_ON, _units_on, add_rows
from rbmbench.kernels.numba.random import fill_coins
from rbmbench.kernels.numba.tables import aligned, pack_rows, transposed_copy, words_of

STRIP = LINE // 2  # columns
GROUPS = -(-WORD // INTEGER_GROUP)
SEGMENTS = 4
ROWS = 512  # that take coins and tables together
STEP = 2 * ROWS * LINE  # bytes of the sums of a segment, a word of columns
TABLE = 2**INTEGER_GROUP * LINE  # bytes
ONE_HALF_STEP = 2**16  # entries of W up to which rounding pays for a single half step
MOST = 32767  # the largest sum
WIDEST = 0.12  # 1.5 times the distance from the activation, nats, mean of units, up to which sums in int16 pay
WIDE = 1.1  # the same of a unit: exp(x) <= 1 + 1.5 x up to 2/3 of it
LOG2_E = np.float32(1.4426950408889634)
ROUND = np.float32(12582912.0)
LOW = 2**40 - 1
NEAR = 4e-5  # relative error of exp(-x) by float32 in `sample_bernoulli`, and of x


class Rounded(NamedTuple):
    """A matrix (units, columns) in steps, one for each column and segment of units: words w, w + segments, ...

    ``strips`` (strips, units, 32) is int16; ``columns`` (2 + segments, columns) are bias, 1.5 times the largest step,
    and the steps, as binary log odds except the second; ``errors`` (columns,) bounds the distance of float32 sums in
    two orders; ``few`` is the most units of rows summed by `add_rows`, which rounds differently from three units
    on, or -1.
    """

    strips: np.ndarray
    columns: np.ndarray
    errors: np.ndarray
    depth: int
    few: int
    widest: float
    total: float


@compiled()
def _lines_of(memory, count):
    """Return ``count`` int16 numbers of memory, aligned to lines."""
    first = (-memory.ctypes.data % LINE) // memory.itemsize
    return memory[first : first + count]


@compiled()
def _rounded(matrix, bias, memory):
    """Return the `Rounded` form of a matrix (units, columns), float32, of the activations of units with a bias."""
    units, count = matrix.shape
    segments = SEGMENTS if words_of(units) >= SEGMENTS else 1
    shape = -(-count // STRIP), words_of(units) * WORD + 1, STRIP
    strips = _lines_of(memory, shape[0] * shape[1] * STRIP).reshape(shape)
    strips[:, units:] = 0
    columns = np.zeros((2 + segments, len(strips) * STRIP), np.float32)
    above, below = np.zeros((segments, count), np.float32), np.zeros((segments, count), np.float32)
    inverse, errors = np.zeros((segments, count), np.float32), np.zeros(count, np.float32)
    for i in range(units):
        row, positive, negative = matrix[i], above[i // WORD % segments], below[i // WORD % segments]
        for j in range(count):
            positive[j] += max(row[j], np.float32(0))
            negative[j] += max(-row[j], np.float32(0))
    widest, all_columns = np.float32(0), 0.0
    for j in range(count):
        total = np.float32(0)
        for s in range(segments):
            most = max(above[s, j], below[s, j]) * np.float32(1.001)
            step = most / np.float32(MOST - units // 2 - 2)
            inverse[s, j] = np.float32(1) / step if step > np.float32(0) else np.float32(0)
            columns[1, j], columns[2 + s, j] = max(columns[1, j], np.float32(1.5) * step), -step * LOG2_E
            total += above[s, j] + below[s, j]
        columns[0, j] = -bias[j] * LOG2_E
        errors[j] = np.float32(1.1 * (units // 8 + units // WORD + 80) * 2.0**-24) * total
        widest, all_columns = max(widest, columns[1, j]), all_columns + columns[1, j] * units / 6
    for i in range(units):
        of_segment = inverse[i // WORD % segments]
        for s in range(len(strips)):
            row, start = strips[s, i], s * STRIP
            for j in range(count - start, STRIP):
                row[j] = 0
            for j in range(min(STRIP, count - start)):
                rounded = matrix[i, start + j] * of_segment[start + j] + ROUND
                row[j] = np.int16(np.float32(rounded).view(np.int32))
    few = units // FEW_ON if units // FEW_ON > 2 else -1
    return Rounded(strips, columns, errors, units // 8 + 12, few, widest, all_columns)


@compiled()
def _sum_strip(words, units, rows, rounded, s, room, place):
    """Write the sums of a strip of packed states (words, rows) to an address, by segments ``room.step`` bytes apart."""
    strips, tables, none = rounded.strips, np.int64(room.table.ctypes.data), np.int64(room.zeros.ctypes.data)
    segments = len(rounded.columns) - 2
    for w in range(len(words)):
        needed = -(-min(WORD, units - w * WORD) // INTEGER_GROUP)
        groups = 4 if needed <= 4 else 8 if needed <= 8 else GROUPS
        source, first = np.int64(strips[s, w * WORD :].ctypes.data), place + w % segments * STEP
        for g in range(groups):
            table_sums(strips, tables + g * TABLE, source + g * INTEGER_GROUP * LINE, LINE, 1)
        for row in range(rows[1] - rows[0]):
            word, out = words[w, rows[0] + row], first + row * LINE
            before = out if w >= segments else none
            if groups == 4:
                add_looked_up(strips, before, out, tables, word, 4, 1)
            elif groups == 8:
                add_looked_up(strips, before, out, tables, word, 8, 1)
            elif w < segments or word:
                add_looked_up(strips, before, out, tables, word, GROUPS, 1)


@compiled(allocates=False)
def _activation(words, row, column):
    """Return the sum of the entries of a column whose units are on, in the order of `multiply_words`."""
    total = np.float32(0)
    for w in range(len(words)):
        word = words[w, row]
        for first in range(0, WORD if word else 0, 2 * GROUP):
            pair = np.float32(0)
            for start in (first, first + GROUP):
                entry = np.float32(0)
                for i in range(start, start + GROUP):
                    if (word >> np.uint64(i)) & np.uint64(1):
                        entry += column[w * WORD + i]
                pair = entry if start == first else pair + entry
            total += pair
    return total


@compiled(allocates=False)
def _near_activation(words, row, column):
    """Return the sum of the entries of a column whose units are on, in any order."""
    whole, place = column.size // WORD, np.int64(words.ctypes.data) + row * words.itemsize
    total = sum_of_units_on(place, words.strides[0], whole, np.int64(column.ctypes.data))
    word = words[whole, row] if whole < len(words) else np.uint64(0)
    while word:
        total += column[whole * WORD + lowest_bit(word)]
        word &= word - np.uint64(1)
    return total


@compiled(allocates=False)
def _decision(words, row, column, bias, error, k):
    """Return 1 or 0 if float32 sums in any order decide that a unit with coin ``k`` is on or off, else 2."""
    t = exp_minus(np.float64(_near_activation(words, row, column) + bias))
    spread = t * (1.5 * error + NEAR)
    return 1 if (k + 1) * (1 + t + spread) <= 65535.9 else 0 if k * (1 + t - spread) >= 65536.1 else 2


@compiled(allocates=False)
def _sampled(activation, bias, coins, key, position):
    """Overwrite a row of activations with states like `sample_bernoulli`; return whether the first one is on."""
    if _sample_row(activation, np.float32(1), bias, coins):
        _close(activation, coins, *key, position)
    return activation[0] > 0


class Room(NamedTuple):
    """Memory of half steps of up to `ROWS` rows: a table, the sums of a word of columns, coins, lists of open units."""

    table: np.ndarray
    zeros: np.ndarray
    sums: np.ndarray
    coins: np.ndarray
    counts: np.ndarray
    first: np.ndarray
    next: np.ndarray
    entry: np.ndarray
    unit: np.ndarray
    coin: np.ndarray
    bias: np.ndarray


@compiled()
def _room(memory):
    """Return the memory of half steps; sums and coins are in ``memory``."""
    like, sums = np.empty(0, np.int16), SEGMENTS * STEP // 2
    zeros = aligned(STRIP, like)
    zeros[:] = 0
    return Room(
        aligned(GROUPS * TABLE // 2, like),
        zeros,
        _lines_of(memory, sums),
        memory[sums + STRIP :].view(np.uint16),
        np.empty(ROWS, np.int64),
        np.full(WORD, -1, np.int32),
        np.empty(ROWS * WORD, np.int32),
        np.empty(ROWS * WORD, np.int64),
        np.empty(1, np.float32),
        np.empty(1, np.float32),
        np.empty(1, np.float32),
    )


@compiled()
def _sample_row_of_few(words, row, matrix, bias, coins, key, position, out):
    """Sample a row with few units on, whose activations are sums of rows of the matrix."""
    units, on = matrix.shape[1], np.empty(matrix.shape[0], np.int64)
    activation, k = np.zeros(units, np.float32), coins[:units].astype(np.float32)
    add_rows(on, _units_on(words, row, on), matrix, np.float32(1), activation)
    _sampled(activation, bias, k, key, position)
    for j in range(units):
        bit = np.uint64(activation[j]) << np.uint64(j % WORD)
        out[j // WORD, row] = out[j // WORD, row] | bit if j % WORD else bit


@compiled(allocates=False)
def _decide_word(w, rows, rounded, room, start, units, out):
    """Write packed samples of a word of units for rows, and list the open ones by unit.

    ``start`` is the index of the first coin. An entry of the lists is a row, and a coin in the bits above.
    """
    inside = min(WORD, units - w * WORD)
    within, open_units = ~np.uint64(0) >> np.uint64(WORD - inside), 0
    segments, stride = len(rounded.columns) - 2, rounded.columns.strides[0]
    sums, columns = np.int64(room.sums.ctypes.data), np.int64(rounded.columns.ctypes.data) + 4 * w * WORD
    coins, lines = np.int64(room.coins.ctypes.data), -(-inside // 16)
    share = np.float32(segments * rounded.depth / 200)
    for row in range(rows[1] - rows[0]):
        if room.counts[row] <= rounded.few:
            continue
        at, width = start + row * units + w * WORD, np.float32(np.float32(0.51) * room.counts[row] + share)
        if width * rounded.widest > WIDE:
            width = np.float32(1e30)  # all units are open
        on, is_open = np.uint64(0), np.uint64(0)
        for line in range(lines):
            place = sums + line // 2 * ROWS * LINE + row * LINE + line % 2 * 32
            k, column = coins + 2 * (at + 16 * line), columns + 64 * line
            if segments == 1:
                bits, open_bits = decide_line(place, STEP, 1, k, column, stride, width)
            else:
                bits, open_bits = decide_line(place, STEP, SEGMENTS, k, column, stride, width)
            on |= bits << np.uint64(16 * line)
            is_open |= open_bits << np.uint64(16 * line)
        out[w, rows[0] + row], is_open = on & within, is_open & within
        while is_open:
            i = lowest_bit(is_open)
            room.entry[open_units] = row | np.int64(room.coins[at + i]) << 40
            room.next[open_units], room.first[i] = room.first[i], open_units
            open_units += 1
            is_open &= is_open - np.uint64(1)


@compiled(allocates=False)
def _close_word(w, words, rows, transposed, bias, errors, key, room, out):
    """Decide the open units of a word, one by one."""
    units = len(transposed)
    for i in range(w * WORD, min(units, (w + 1) * WORD)):
        k, column = room.first[i % WORD], transposed[i]
        while k >= 0:
            row, coin = rows[0] + (room.entry[k] & LOW), room.entry[k] >> 40
            is_on = _decision(words, row, column, bias[i], errors[i], np.float64(coin))
            if is_on == 2:
                room.unit[0], room.coin[0], room.bias[0] = _activation(words, row, column), np.float32(coin), bias[i]
                is_on = np.int64(_sampled(room.unit, room.bias, room.coin, key, row * units + i))
            out[w, row] |= np.uint64(is_on) << np.uint64(i % WORD)
            k = room.next[k]
        room.first[i % WORD] = -1


@compiled()
def _sample_rows(words, rows, rounded, matrix, transposed, bias, key, room, out):
    """Write packed samples of rows of units with a bias, given packed states."""
    units, first = matrix.shape[1], np.int64(room.sums.ctypes.data)
    start = fill_coins(*key, rows[0] * units, rows[1] * units, room.coins)
    for row in range(rows[1] - rows[0]):
        room.counts[row] = 0
        for w in range(len(words)):
            room.counts[row] += bits_on(words[w, rows[0] + row])
    for w in range(len(out)):
        for s in range(2 * w, min(len(rounded.strips), 2 * w + 2)):
            _sum_strip(words, matrix.shape[0], rows, rounded, s, room, first + s % 2 * ROWS * LINE)
        _decide_word(w, rows, rounded, room, start, units, out)
        _close_word(w, words, rows, transposed, bias, rounded.errors, key, room, out)
    for row in range(rows[1] - rows[0]):
        if room.counts[row] <= rounded.few:
            coins, at = room.coins[start + row * units :], rows[0] + row
            _sample_row_of_few(words, at, matrix, bias, coins, key, at * units, out)


@compiled()
def _write_rows(words, out):
    """Write packed states (words, rows) as numbers 0 and 1 (rows, units)."""
    rows, units = out.shape
    for row in range(rows):
        for w in range(units // WORD):
            write_states(out, words[w, row], out[row, w * WORD :].ctypes.data)
        for i in range(units // WORD * WORD, units):
            out[row, i] = (words[i // WORD, row] >> np.uint64(i % WORD)) & np.uint64(1)


@compiled()
def _run(W, b, c, seed, trials, number, purpose, half_steps, memory, rows, hidden, out, done):
    """Make half steps of rows (begin, end) of chains, the first to the visible layer, and write the last states.

    Only replicas with narrow steps are run; ``done`` receives which.
    """
    begin, end = rows
    replicas, count, n = hidden.shape
    m = W.shape[1]
    room = _room(memory[0])
    visible_words, hidden_words = np.empty((words_of(m), count), np.uint64), np.empty((words_of(n), count), np.uint64)
    for r in range(replicas):
        W_transposed = transposed_copy(W[r])
        to_visible = to_hidden = _rounded(W_transposed, b[r], memory[1])
        if half_steps > 1:
            to_hidden = _rounded(W[r], c[r], memory[2])
        done[r] = to_visible.total + to_hidden.total < WIDEST * (m + n)
        pack_rows(hidden[r, begin:end], hidden_words[:, begin:end])
        for step in range(half_steps if done[r] else 0):
            key = seed, trials[r], number + np.uint64(step), purpose
            rounded, matrix, transposed, bias = to_visible, W_transposed, W[r], b[r]
            states, sampled = hidden_words, visible_words
            if step % 2:
                rounded, matrix, transposed, bias = to_hidden, W[r], W_transposed, c[r]
                states, sampled = visible_words, hidden_words
            for first in range(begin, end, ROWS):
                of_tile = first, min(end, first + ROWS)
                _sample_rows(states, of_tile, rounded, matrix, transposed, bias, key, room, sampled)
        if done[r]:
            words = visible_words if half_steps % 2 else hidden_words
            _write_rows(words[:, begin:end], out[r, begin:end])


def memory_sizes(rows: int, m: int, n: int) -> tuple[int, int, int]:
    """Return the sizes of the three arrays int16 that `run` uses as memory."""
    strips, coins = (-(-m // STRIP), -(-n // STRIP)), min(rows, ROWS) * max(m, n) // STRIP + 10
    sizes = SEGMENTS * STEP // LINE + coins, strips[0] * (n + WORD), strips[1] * (m + WORD)
    return tuple(STRIP * (size + 1) for size in sizes)


def takes(rows: int, half_steps: int, W) -> bool:
    """Return whether `run` supports chains of this shape: both products take tables, and rounding W pays."""
    m, n = W.shape[1:]
    if W.dtype != np.float32 or max(m, n) >= MOST // 4 or (half_steps == 1 and m * n > ONE_HALF_STEP):
        return False
    return half_steps > 0 and all(ways.takes_tables(ways.number(), *shape) for shape in ((rows, m, n), (rows, n, m)))


def run(W, b, c, draw, half_steps, memory, rows, hidden, out):
    """Make half steps from the hidden states of rows (begin, end), and write the last states to those of ``out``.

    Return whether each replica is done, which depends on its parameters alone.
    """
    draw.check(len(W))
    done = np.empty(len(W), np.bool_)
    _run(W, b, c, draw.seed, draw.trials, draw.number, draw.purpose, half_steps, memory, rows, hidden, out, done)
    return done
