# SPDX-License-Identifier: BSD-3-Clause
"""Products of binary states with matrices by tables of sums.

The contracted axis is cut into groups of 4 units. For a group and a strip of columns of the matrix, the 16 possible
sums of its 4 rows are a table. The product of a row of states is then one look-up and one addition of vectors for a
group: a quarter of the additions of a dense product, and no multiplication. Tables for 64 units, one word of packed
states, stay in the first-level cache while all rows pass.

Source: Arlazarov, Dinic, Kronrod, Faradzev 1970 ("four Russians"), here with sums of floats.
"""

import numpy as np

from rbmbench.kernels.numba.compiling import compiled
from rbmbench.kernels.numba.intrinsics import (
    ENTRIES,
    GROUP,
    LINE,
    WORD,
    add_looked_up,
    binary_word,
    prefetch_lines,
    table_sums,
    transpose_lines,
)

GROUPS = WORD // GROUP
AHEAD = 8  # rows
QUARTER = GROUPS // 4  # groups of a part of the last word
TILE = 1024  # rows whose sums stay in the second-level cache


@compiled()
def aligned(count, like):
    """Return an uninitialised array that is aligned to lines."""
    spare = LINE // like.itemsize
    raw = np.empty(count + spare, like.dtype)
    first = (-raw.ctypes.data % LINE) // like.itemsize
    return raw[first : first + count]


@compiled()
def words_of(units):
    return (units + WORD - 1) // WORD


@compiled()
def pack_rows(states, words):
    """Pack rows of states (rows, units), contiguous along units, into ``words`` (words, rows).

    Bit i of word w of a row is unit 64 w + i. Return whether all states are 0 or 1.
    """
    rows, units = states.shape
    whole, faults, last_word = units // WORD, np.uint64(0), np.zeros(WORD, states.dtype)
    for row in range(rows):
        start = states[row].ctypes.data
        for w in range(whole):
            words[w, row], fault = binary_word(states, start + w * WORD * states.itemsize)
            faults |= fault
        if whole * WORD < units:
            for i in range(units - whole * WORD):
                last_word[i] = states[row, whole * WORD + i]
            words[whole, row], fault = binary_word(states, last_word.ctypes.data)
            faults |= fault
    return faults == 0


@compiled()
def pack_columns(states, words):
    """Pack columns of states (units, rows), contiguous along rows, like `pack_rows` their transpose."""
    units, rows = states.shape
    across = np.zeros((words_of(rows), words_of(units) * WORD), np.uint64)
    binary = pack_rows(states, across[:, :units])
    for w in range(words_of(units)):
        for first in range(0, rows, WORD):
            square = across[first // WORD, w * WORD : (w + 1) * WORD]
            _transpose_bits(square)
            last = min(rows, first + WORD)
            words[w, first:last] = square[: last - first]
    return binary


@compiled()
def _transpose_bits(square):
    """Transpose 64 x 64 bits in place: swap the squares beside the diagonal, at half the size in each round."""
    size, low = np.uint64(WORD // 2), np.uint64(2**32 - 1)
    while size:
        for corner in range(np.uint64(0), np.uint64(WORD), size + size):
            for i in range(corner, corner + size):
                moved = ((square[i] >> size) ^ square[i + size]) & low
                square[i + size] ^= moved
                square[i] ^= moved << size
        size >>= np.uint64(1)
        low ^= low << size


@compiled()
def _place(array):
    """Return the address of an array, and the bytes from row to row."""
    return array.ctypes.data, array.strides[0]


@compiled()
def _rows_as_they_are(matrix, units, columns, strip):
    """Return the place of the rows of a matrix (units, columns): in it, or in the strip if zeros have to be added."""
    first, last = units
    start, end = columns
    if last - first == WORD and end - start == strip.shape[1]:
        return _place(matrix[first:, start:])
    strip[:] = 0
    for i in range(last - first):
        for j in range(end - start):
            strip[i, j] = matrix[first + i, start + j]
    return _place(strip)


@compiled()
def _rows_transposed(matrix, units, columns, corner, strip):
    """Return the place of the rows of the transpose of a matrix (columns, units), in the strip, filled with zeros."""
    first, last = units
    start, end = columns
    source, stride = _place(matrix[start:, first:])
    if last - first < WORD or end - start < strip.shape[1]:
        corner[:] = 0
        corner[: end - start, : last - first] = matrix[start:end, first:last]
        source, stride = _place(corner)
    square = LINE // matrix.itemsize
    for j in range(0, strip.shape[1], square):
        for i in range(0, WORD, square):
            at = source + j * stride + i * matrix.itemsize
            transpose_lines(matrix, at, stride, strip[i:, j:].ctypes.data, strip.strides[0])
    return _place(strip)


@compiled()
def transposed_copy(matrix):
    """Return the transpose of a matrix with contiguous rows, contiguous too."""
    rows, columns = matrix.shape
    copy, square = np.empty((columns, rows), matrix.dtype), LINE // matrix.itemsize
    whole_rows, whole_columns = rows // square * square, columns // square * square
    for i in range(0, whole_rows, square):
        for j in range(0, whole_columns, square):
            source, target = matrix[i:, j:], copy[j:, i:]
            transpose_lines(matrix, source.ctypes.data, source.strides[0], target.ctypes.data, target.strides[0])
    for i in range(rows):
        for j in range(whole_columns if i < whole_rows else 0, columns):
            copy[j, i] = matrix[i, j]
    return copy


@compiled()
def _fill_tables(like, place, groups, lines, tables):
    rows, stride = place
    for g in range(groups):
        four, table = rows + g * GROUP * stride, tables + g * ENTRIES * lines * LINE
        if lines == 1:
            table_sums(like, table, four, stride, 1)
        else:
            table_sums(like, table, four, stride, 2)


@compiled()
def _add_word(like, words, sums, out, tables, groups, lines, following, count):
    """Write the sums of each row plus its entries of the tables to ``out``; both are places.

    Meanwhile the ``count`` rows at the place ``following``, the source of the next tables, are fetched to the cache.
    """
    for row in range(words.size):
        source, target, word = sums[0] + row * sums[1], out[0] + row * out[1], words[row]
        prefetch_lines(target + AHEAD * out[1], 3, 1)
        if row < count:
            prefetch_lines(following[0] + row * following[1], 5, 0)
        if lines == 1 and groups == GROUPS:
            add_looked_up(like, source, target, tables, word, GROUPS, 1)
        elif lines == 1:
            add_looked_up(like, source, target, tables, word, QUARTER, 1)
        elif groups == GROUPS:
            add_looked_up(like, source, target, tables, word, GROUPS, 2)
        else:
            add_looked_up(like, source, target, tables, word, QUARTER, 2)


@compiled()
def _multiply_strip(words, units, matrix, transposed, start, room, sums, out):
    """Write a strip of columns of the product, from ``start`` on: word by word, to ``sums`` and at last to ``out``."""
    tables, zeros, corner, strip = room
    end = min(out.shape[1], start + strip.shape[1])
    lines = strip.strides[0] // LINE
    for w in range(words_of(units)):
        of_word = w * WORD, min(units, (w + 1) * WORD)
        if transposed:
            rows = _rows_transposed(matrix, of_word, (start, end), corner, strip)
            following, count = _place(matrix[start:, of_word[1] :]), end - start
        else:
            rows = _rows_as_they_are(matrix, of_word, (start, end), strip)
            following, count = _place(matrix[of_word[1] :, start:]), min(WORD, units - of_word[1])
        groups = QUARTER if of_word[1] - of_word[0] <= QUARTER * GROUP else GROUPS
        _fill_tables(matrix, rows, groups, lines, tables.ctypes.data)
        source = _place(sums) if w else (zeros.ctypes.data, 0)
        is_last = of_word[1] == units and end - start == strip.shape[1]
        target = _place(out[:, start:]) if is_last else _place(sums)
        _add_word(matrix, words[w], source, target, tables.ctypes.data, groups, lines, following, count)
    if end - start < strip.shape[1]:
        out[:, start:end] = sums[:, : end - start]


@compiled()
def multiply_words(words, units, matrix, transposed, out):
    """Write the product of packed states (words, rows) with a matrix (units, columns), or (columns, units) transposed.

    Rows of the matrix and of ``out`` (rows, columns) are contiguous.
    """
    rows, columns = out.shape
    line = LINE // matrix.itemsize
    tables, zeros = aligned(GROUPS * ENTRIES * 2 * line, matrix), aligned(2 * line, matrix)
    corner, strip = aligned(2 * line * WORD, matrix), aligned(WORD * 2 * line, matrix)
    sums = aligned(min(rows, TILE) * 2 * line, matrix)
    zeros[:] = 0
    for first in range(0, rows, TILE):
        last = min(rows, first + TILE)
        for start in range(0, columns, 2 * line):
            # The last strip may be narrow.
            width = line if columns - start <= line else 2 * line
            shapes = corner[: width * WORD].reshape((width, WORD)), strip[: WORD * width].reshape((WORD, width))
            room, of_tile = (tables, zeros, *shapes), sums[: (last - first) * width].reshape((last - first, width))
            _multiply_strip(words[:, first:last], units, matrix, transposed, start, room, of_tile, out[first:last])
