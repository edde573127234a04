# SPDX-License-Identifier: BSD-3-Clause
"""Tempered chains: all sweeps in one compiled loop, without the overhead of calls.

Few chains make many sweeps with the same weights. Where that pays, weights are rounded to multiples of 2^-30 of the sum
of their column, so that sums of them are exact in int32. A sweep then adds the rows of the units that changed since the
last one, in strips of columns whose rows stay in the first-level cache while all chains pass, or the rows of the units
that are on where these are fewer. The effect of rounding on an activation has a known bound. Units for which
it could matter, about one in ten thousand, and exchanges, are decided by the float32 products of `_project` and
`_reconstruct`. So the states are those of these products, bit for bit.
"""

from typing import NamedTuple

import numpy as np
from llvmlite.binding import get_host_cpu_features

from rbmbench.kernels import SMALL_PRODUCT, ways
from rbmbench.kernels.numba.compiling import compiled
from rbmbench.kernels.numba.elementary import FAST, exp_minus
from rbmbench.kernels.numba.intrinsics import LINE, WORD, add_changes, bits_on, lowest_bit
from rbmbench.kernels.numba.products import add_one, multiply_within
from rbmbench.kernels.numba.random import fill_uniforms
from rbmbench.kernels.numba.tables import aligned, pack_rows, words_of

# Multiplications up to which BLAS is faster than the loops below.
SMALL = SMALL_PRODUCT if get_host_cpu_features().get("avx512f") else 40_000

STRIP = 2 * LINE // 4  # columns of sums in int32
BLOCK = 2  # words of units whose rows of a strip stay in the first-level cache
LEAST_SWEEPS, LEAST_MATRIX = 16, 90_000  # from which rounding the weights pays
UNIT = np.float32(2.0**-24)  # relative error of a float32 sum of two numbers
NEAR = np.float32(4e-5)  # relative error of exp(-x) by float32, and of x
EDGE = np.float32(2.0**-22)
LEAST_TOTAL = np.float32(1e-25)  # of a column, below which weights are left out
WIDEST = 0.5  # twice the distance of an activation, nats, up to which rounding is used
ONE = np.float32(1)
ONES = np.ones(1, np.float32)

# BLAS is slow for few chains; many, as in several sets, take tables. Else both products read W' in strips of rows that
# stay in the first-level cache while they are applied to all chains.


@compiled(fastmath=FAST)
def _project(visible, W_transposed, activation):
    """Write v W of all chains, four hidden units at a time; the last unit is repeated to fill up."""
    chains, n = activation.shape
    last = n - 1
    for j in range(0, n, 4):
        j1, j2, j3 = min(j + 1, last), min(j + 2, last), min(j + 3, last)
        row0, row1, row2, row3 = W_transposed[j], W_transposed[j1], W_transposed[j2], W_transposed[j3]
        for k in range(chains):
            v = visible[k]
            sum0 = sum1 = sum2 = sum3 = activation.dtype.type(0)
            for i in range(v.size):
                sum0 += v[i] * row0[i]
                sum1 += v[i] * row1[i]
                sum2 += v[i] * row2[i]
                sum3 += v[i] * row3[i]
            activation[k, j], activation[k, j1], activation[k, j2], activation[k, j3] = sum0, sum1, sum2, sum3


@compiled(fastmath=FAST)
def _add_rows(h, rows, a):
    """Add h[k] rows[k] to ``a`` for eight rows."""
    h0, h1, h2, h3, h4, h5, h6, h7 = h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7]
    r0, r1, r2, r3, r4, r5, r6, r7 = rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7]
    for i in range(a.size):
        first, second = h0 * r0[i] + h1 * r1[i] + h2 * r2[i] + h3 * r3[i], h4 * r4[i] + h5 * r5[i]
        a[i] += first + second + h6 * r6[i] + h7 * r7[i]


@compiled()
def _reconstruct(hidden, W_transposed, activation):
    """Write W h of all chains, eight hidden units at a time, then one by one."""
    chains, n = hidden.shape
    whole = n - n % 8
    activation[...] = 0
    for j in range(0, whole, 8):
        for k in range(chains):
            _add_rows(hidden[k, j : j + 8], W_transposed[j : j + 8], activation[k])
    for j in range(whole, n):
        for k in range(chains):
            add_one(W_transposed[j], hidden[k, j], activation[k])


@compiled(fastmath=FAST)
def _sample(activation, bias, beta, u, first, out, total):
    """Sample the units of all chains; write the sum of activations (with bias) of the units that are on."""
    chains, units = out.shape
    one = out.dtype.type(1)
    for k in range(chains):
        at, sum_on = np.uint64(first + k * units), out.dtype.type(0)
        for i in range(np.uint64(units)):
            a = activation[k, i] + bias[i]
            state = out.dtype.type(u[at + i] + u[at + i] * exp_minus(beta[k] * a) < one)
            out[k, i] = state
            sum_on += state * a
        total[k] = sum_on


@compiled(fastmath=FAST)
def _set_energies(hidden, c, energy):
    """Convert v'(b + W h) of each chain to E(v, h) = - v'(b + W h) - c'h."""
    for k in range(energy.size):
        total = energy[k]
        for j in range(c.size):
            total += c[j] * hidden[k, j]
        energy[k] = -total


class Fixed(NamedTuple):
    """A matrix (units, columns) in steps of int32, and the sums of the rows of units that were on.

    ``strips`` (strips, units, 32) and ``sums`` (strips, chains, 32) are int32; ``steps`` and ``totals``, sums of
    absolute values with those of the bias, are (columns,); ``before`` (words, chains) are the states of the sums. In
    the room for one product, ``words`` are states, ``offsets`` (blocks, chains, 128) and ``ends`` (blocks, chains, 2)
    list the rows of a block to be added and subtracted, and ``on`` (chains,) are the numbers of units that are on.
    """

    strips: np.ndarray
    sums: np.ndarray
    steps: np.ndarray
    totals: np.ndarray
    before: np.ndarray
    words: np.ndarray
    offsets: np.ndarray
    ends: np.ndarray
    on: np.ndarray


@compiled()
def _fixed(matrix, bias, chains):
    """Return the `Fixed` form of a matrix, float32, of the activations of units with a bias; all states are 0."""
    units, columns = matrix.shape
    words, strips = words_of(units), -(-columns // STRIP)
    totals, like = np.zeros(columns, np.float32), np.empty(0, np.int32)
    for i in range(units):
        for j in range(columns):
            totals[j] += abs(matrix[i, j])
    steps, inverse = totals * np.float32(2.0**-30), np.zeros(columns, np.float32)
    for j in range(columns):
        inverse[j] = ONE / steps[j] if totals[j] > LEAST_TOTAL else np.float32(0)
        totals[j] += abs(bias[j])
    rounded = aligned(strips * units * STRIP, like).reshape((strips, units, STRIP))
    sums = aligned(strips * chains * STRIP, like).reshape((strips, chains, STRIP))
    sums[:] = 0
    for i in range(units):
        for s in range(strips):
            row, start = rounded[s, i], s * STRIP
            for j in range(min(STRIP, columns - start)):
                row[j] = np.int32(np.rint(matrix[i, start + j] * inverse[start + j]))
    blocks = -(-words // BLOCK)
    return Fixed(
        rounded,
        sums,
        steps,
        totals,
        np.zeros((words, chains), np.uint64),
        np.empty((words, chains), np.uint64),
        np.empty((blocks, chains, BLOCK * WORD), np.int32),
        np.zeros((blocks, chains, 2), np.int64),
        np.zeros(chains, np.float32),
    )


@compiled()
def _list_changes(k, row, fixed):
    """List the rows to be added to the sums in a row and to be subtracted, for the states of chain k."""
    on, changes = 0, 0
    for w in range(len(fixed.words)):
        on += bits_on(fixed.words[w, k])
        changes += bits_on(fixed.words[w, k] ^ fixed.before[w, row])
    fixed.on[k] = on
    if on < changes:
        fixed.before[:, row], fixed.sums[:, row] = 0, 0
    for block in range(len(fixed.ends)):
        of_block, count = range(block * BLOCK, min(len(fixed.words), (block + 1) * BLOCK)), 0
        for sign in range(2):
            for w in of_block:
                bits = fixed.words[w, k] ^ fixed.before[w, row]
                bits &= fixed.before[w, row] if sign else fixed.words[w, k]
                while bits:
                    fixed.offsets[block, k, count] = (w % BLOCK * WORD + lowest_bit(bits)) * 2 * LINE
                    bits &= bits - np.uint64(1)
                    count += 1
            fixed.ends[block, k, sign] = count
        for w in of_block:
            fixed.before[w, row] = fixed.words[w, k]


@compiled()
def _add_all_changes(states, at, beta, fixed, activation):
    """Write the products of states of all chains, except those at ``beta`` 0, whose activations are not needed.

    The sums of chain k are in row ``at[k]``.
    """
    columns = activation.shape[1]
    pack_rows(states, fixed.words)
    fixed.ends[:] = 0
    for k in range(len(states)):
        if beta[k % beta.size] > 0:
            _list_changes(k, at[k], fixed)
    for s in range(len(fixed.strips)):
        for block in range(len(fixed.ends)):
            rows = fixed.strips[s, block * BLOCK * WORD :].ctypes.data
            for k in range(len(states)):
                sums, offsets = fixed.sums[s, at[k]].ctypes.data, fixed.offsets[block, k].ctypes.data
                add_changes(fixed.strips, sums, rows, offsets, fixed.ends[block, k, 0], fixed.ends[block, k, 1])
        for k in range(len(states)):
            sums, start = fixed.sums[s, at[k]], s * STRIP
            for j in range(min(STRIP, columns - start)):
                activation[k, start + j] = np.float32(sums[j]) * fixed.steps[start + j]


@compiled()
def _width(on):
    """Return twice the distance from a float32 sum in any order, as a share of the total, with so many units on."""
    return np.float32(2 * UNIT * (1.02 * on + 16))


@compiled(fastmath=FAST)
def _sample_near(activation, bias, totals, on, beta, u, out, total, error, is_open):
    """Sample like `_sample` chains with activations near those of float32 products; mark open units by 2.

    Write the sums of activations of the units that are on and not open, their distances from those of `_sample`, and
    whether units are open.
    """
    zero, two = np.float32(0), np.float32(2)
    for k in range(len(out)):
        at, width = np.uint64(k * out.shape[1]), np.float32(_width(on[k]))
        count, on_or_off, sum_on, size, of_totals = zero, zero, zero, zero, zero
        for i in range(np.uint64(out.shape[1])):
            a = activation[k, i] + bias[i]
            t = u[at + i] * exp_minus(beta[k] * a)
            s = u[at + i] + t
            near = np.float32(abs(s - ONE) <= t * (beta[k] * width * totals[i] + NEAR) + EDGE)
            state = np.float32(s < ONE) * (ONE - near)
            out[k, i] = state + two * near
            count, on_or_off, sum_on = count + near, on_or_off + state, sum_on + state * a
            size, of_totals = size + state * abs(a), of_totals + state * totals[i]
        total[k], is_open[k] = sum_on, count > zero
        error[k] = two * (width * of_totals + UNIT * (on_or_off + two) * size)


@compiled()
def _is_decided(k, beta, u, energy, error):
    """Return whether energies within ``error`` decide on the exchange of chains k and k + 1."""
    of_both = np.float64(error[k]) + error[k + 1] + 4 * UNIT * (abs(energy[k]) + abs(energy[k + 1]))
    exponent = (np.float64(beta[k]) - beta[k + 1]) * (np.float64(energy[k]) - energy[k + 1])
    spread = abs(np.float64(beta[k]) - beta[k + 1]) * of_both + 1e-6
    return u[k] < np.exp(min(exponent - spread, 0.0)) or u[k] >= np.exp(min(exponent + spread, 1.0))


@compiled()
def _exchange(k, beta, u, visible, energy):
    """Swap the states of chains k and k + 1 with the Metropolis probability; return whether they are."""
    exponent = (beta[k] - beta[k + 1]) * (energy[k] - energy[k + 1])
    accepted = exponent >= 0 or u[k] < np.exp(exponent)
    if accepted:
        energy[k], energy[k + 1] = energy[k + 1], energy[k]
        for i in range(visible.shape[1]):
            visible[k, i], visible[k + 1, i] = visible[k + 1, i], visible[k, i]
    return accepted


@compiled()
def _close(of_hidden, k, row, states, W, W_transposed, bias, beta, u, out):
    """Decide the open units in a row, of chain k of a set, by the float32 products.

    Return the sum of activations of those that are on, and the sum of the absolute values.
    """
    unit, total, size = np.empty((1, 1), W.dtype), np.float32(0), np.float32(0)
    for j in range(len(bias)):
        if out[row, j] > 1:
            if of_hidden:
                _project(states[row : row + 1], W_transposed[j : j + 1], unit)
            else:
                _reconstruct(states[row : row + 1], W[j].reshape((W.shape[1], 1)), unit)
            state, of_unit = out[row, j : j + 1].reshape((1, 1)), np.empty(1, W.dtype)
            _sample(unit, bias[j : j + 1], beta[k : k + 1], u, k * len(bias) + j, state, of_unit)
            total, size = total + of_unit[0], size + abs(of_unit[0])
    return total, size


@compiled()
def _energy(k, row, hidden, W_transposed, b, c, beta, u):
    """Return the energy of the states in a row, drawn as those of chain k of a set, by the float32 products."""
    visible, activation = np.empty((1, len(b)), b.dtype), np.empty((1, len(b)), b.dtype)
    energy, of_row = np.empty(1, b.dtype), hidden[row : row + 1]
    _reconstruct(of_row, W_transposed, activation)
    _sample(activation, b, beta[k : k + 1], u, k * len(b), visible, energy)
    _set_energies(of_row, c, energy)
    return energy[0]


@compiled()
def _sweeps(way, library, near, W, W_transposed, b, c, beta, key, visible, samples):
    """Make the sweeps of one replica; ``near`` are the rounded weights of both half steps, or None."""
    (sets, chains, m), n = visible.shape, len(c)
    seed, trial, number, purpose = key
    v, first_visible, count = visible.reshape((sets * chains, m)), chains * n, chains * (n + m + 1)
    u, energy, error = np.empty(count + 126, W.dtype), np.empty(chains, W.dtype), np.zeros(chains, W.dtype)
    hidden, to_hidden = np.empty((sets * chains, n), W.dtype), np.empty((sets * chains, n), W.dtype)
    to_visible, is_open = np.empty((sets * chains, m), W.dtype), np.zeros(chains, np.bool_)
    at, origin, size_of_c = np.arange(sets * chains), np.arange(chains), np.abs(c).sum()
    for sweep in range(samples.shape[1]):
        draw = number + np.uint64(sweep)
        if near is None:  # decided at compile time, as below
            if library[0]:
                multiply_within(way, v, np.bool_(False), W, to_hidden)
            else:
                _project(v, W_transposed, to_hidden)
        else:
            _add_all_changes(v, at, beta, near[0], to_hidden)
        for s in range(sets):
            of_set = slice(s * chains, (s + 1) * chains)
            start = fill_uniforms(seed, trial, draw, purpose, s * count, s * count + first_visible, u)
            if near is None:
                _sample(to_hidden[of_set], c, beta, u, start, hidden[of_set], energy)
            else:
                drawn = hidden[of_set], energy, error, is_open
                _sample_near(to_hidden[of_set], c, near[0].totals, near[0].on[of_set], beta, u[start:], *drawn)
                for k in np.flatnonzero(is_open):
                    _close(True, k, s * chains + k, v, W, W_transposed, c, beta, u[start:], hidden)
        if near is None:
            if library[1]:
                multiply_within(way, hidden, np.bool_(False), W_transposed, to_visible)
            else:
                _reconstruct(hidden, W_transposed, to_visible)
        else:
            _add_all_changes(hidden, at, ONES, near[1], to_visible)
        for s in range(sets):
            of_set = slice(s * chains, (s + 1) * chains)
            start = fill_uniforms(seed, trial, draw, purpose, s * count + first_visible, (s + 1) * count, u)
            of_swaps = u[start + chains * m :]
            if near is None:
                _sample(to_visible[of_set], b, beta, u, start, v[of_set], energy)
            else:
                drawn, on = (v[of_set], energy, error, is_open), near[1].on[of_set]
                _sample_near(to_visible[of_set], b, near[1].totals, on, beta, u[start:], *drawn)
                for k in range(chains):
                    origin[k] = k
                    if is_open[k]:
                        row = s * chains + k
                        total, size = _close(False, k, row, hidden, W, W_transposed, b, beta, u[start:], v)
                        energy[k] += total
                        error[k] += 2 * UNIT * m * size
                    error[k] += 2 * UNIT * (on[k] + 2) * (abs(energy[k]) + size_of_c)
            _set_energies(hidden[of_set], c, energy)
            for first in range(2):
                for k in range(first, chains - 1, 2):
                    if near is not None:
                        for chain in range(k, k if _is_decided(k, beta, of_swaps, energy, error) else k + 2):
                            row, error[chain] = s * chains + origin[chain], 0
                            energy[chain] = _energy(origin[chain], row, hidden, W_transposed, b, c, beta, u[start:])
                    if _exchange(k, beta, of_swaps, v[of_set], energy) and near is not None:
                        row = s * chains + k
                        at[row], at[row + 1] = at[row + 1], at[row]
                        origin[k], origin[k + 1] = origin[k + 1], origin[k]
                        error[k], error[k + 1] = error[k + 1], error[k]
            samples[s, sweep] = v[(s + 1) * chains - 1]


@compiled()
def _rounded(W, W_transposed, b, c, chains):
    """Return the `Fixed` forms of both half steps, and whether distances of activations are small enough."""
    near = _fixed(W, c, chains), _fixed(W_transposed, b, chains)
    widths = _width(len(b)) * near[0].totals.max(), _width(len(c)) * near[1].totals.max()
    return near, max(*widths) <= WIDEST


def tempered_sweeps(W, b, c, inverse_temperatures, draw, visible, samples):
    draw.check(len(W))
    (_, sets, chains, m), n = visible.shape, W.shape[2]
    beta, way, size = np.asarray(inverse_temperatures, W.dtype), ways.number(), sets * chains * m * n
    tables = [ways.takes_tables(way, sets * chains, *shape) for shape in ((m, n), (n, m))]
    library = size < SMALL or tables[0], size < SMALL or tables[1]
    # Rounding pays where few chains make many sweeps.
    rounds = W.dtype == np.float32 and samples.shape[2] >= LEAST_SWEEPS and m * n >= LEAST_MATRIX and not any(library)
    # Not compiled: a compiled loop would take seconds more, since all its callees are optimised again.
    for r, trial in enumerate(draw.trials):
        W_transposed, key = W[r].T.copy(), (draw.seed, trial, draw.number, draw.purpose)
        near, narrow = _rounded(W[r], W_transposed, b[r], c[r], sets * chains) if rounds else (None, False)
        near = near if narrow else None
        _sweeps(way, library, near, W[r], W_transposed, b[r], c[r], beta, key, visible[r], samples[r])
