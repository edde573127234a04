# SPDX-License-Identifier: BSD-3-Clause
"""Vector instructions for products with binary states, which Numba's loops do not compile to.

Vectors have one or two lines of 64 bytes on all processors: LLVM divides them into registers of 16, 32 or 64 bytes.
Addresses are integers; ``like`` is an array that gives the type of the numbers.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LINE = 64  # bytes
GROUP = 4  # units whose sums are in a table
ENTRIES = 2**GROUP
INTEGER_GROUP = 5  # the same for sums in int16, whose tables are half as large
WORD = 64  # units
INT64 = ir.IntType(64)
SIDES = 65536.0  # of the coins of units
ROUND = 12582912.0  # 1.5 * 2**23: adding it rounds to an integer, in the low bits
# 2**r on [-1/2, 1/2], from the highest power on: the polynomial of degree 3 with the smallest relative error, 7.5e-5.
POWERS = 0.0551716708, 0.242611138, 0.693260987, 0.999928073
LIMIT = 120.0  # of binary log odds
MARGIN = 2.5e-4  # of that error, and of those of float32 in two computations of t


def _number(like):
    """Return the LLVM type of the numbers of an array, and their bytes."""
    floats = {types.float32: ir.FloatType(), types.float64: ir.DoubleType()}
    return floats.get(like.dtype, ir.IntType(like.dtype.bitwidth)), like.dtype.bitwidth // 8


def _group_and_sum(like, builder):
    """Return the number of units whose sums are in a table, and the instruction that adds."""
    return (INTEGER_GROUP, builder.add) if isinstance(like.dtype, types.Integer) else (GROUP, builder.fadd)


def _vector(like, lines: int):
    number, size = _number(like)
    return ir.VectorType(number, lines * LINE // size), size


def _at(builder, address, offset: int, kind):
    """Return the pointer to a value of type ``kind`` at an address plus an offset."""
    return builder.inttoptr(builder.add(address, INT64(offset)), kind.as_pointer())


def _literal(*numbers) -> bool:
    return all(isinstance(number, types.IntegerLiteral) for number in numbers)


@intrinsic
def table_sums(typing_context, like, table, rows, stride, lines):
    """Write the sums of subsets of a group of rows of ``lines`` lines to a table; bit k of an entry is row k.

    The rows are ``stride`` bytes apart, at any address; the table is aligned to lines.
    """
    if not _literal(lines):
        return None

    def generate(context, builder, signature, arguments):
        _, table, rows, stride, _ = arguments
        vector, size = _vector(like, lines.literal_value)
        group, add = _group_and_sum(like, builder)
        # The rows stay in registers; each sum is one addition to an earlier sum.
        sums = [ir.Constant(vector, None)]
        for row in range(group):
            address = builder.add(rows, builder.mul(stride, INT64(row)))
            added = builder.load(_at(builder, address, 0, vector), align=size)
            sums += [added, *(add(total, added) for total in sums[1:])]
        for entry, total in enumerate(sums):
            builder.store(total, _at(builder, table, entry * lines.literal_value * LINE, vector), align=LINE)
        return context.get_dummy_value()

    return types.void(like, table, rows, stride, lines), generate


@intrinsic
def add_looked_up(typing_context, like, sums, out, tables, word, groups, lines):
    """Write the sums at ``sums`` plus one entry from each of ``groups`` tables to ``out``.

    The entry of table g is its group of bits of ``word``. Tables and sums are aligned to lines; ``out`` is not.
    """
    if not _literal(groups, lines):
        return None

    def generate(context, builder, signature, arguments):
        _, sums, out, tables, word, _, _ = arguments
        vector, size = _vector(like, lines.literal_value)
        entry, (bits, add) = lines.literal_value * LINE, _group_and_sum(like, builder)

        def looked_up(group):
            code = builder.and_(builder.lshr(word, INT64(bits * group)), INT64(2**bits - 1))
            address = builder.add(tables, builder.mul(code, INT64(entry)))
            return builder.load(_at(builder, address, group * 2**bits * entry, vector), align=LINE)

        # The sums stay in registers. Entries are added in pairs, so that two chains of additions run at a time.
        total, count = builder.load(_at(builder, sums, 0, vector), align=LINE), groups.literal_value
        for group in range(0, count - 1, 2):
            total = add(total, add(looked_up(group), looked_up(group + 1)))
        if count % 2:
            total = add(total, looked_up(count - 1))
        builder.store(total, _at(builder, out, 0, vector), align=size)
        return context.get_dummy_value()

    return types.void(like, sums, out, tables, word, groups, lines), generate


@intrinsic
def add_changes(typing_context, like, sums, rows, offsets, on, count):
    """Add rows of two lines to sums, those at the first ``on`` of ``count`` offsets, and subtract those at the others.

    Sums, rows and offsets, int32, are addresses; sums and rows are aligned to lines.
    """

    def generate(context, builder, signature, arguments):
        _, sums, rows, offsets, on, count = arguments
        (vector, _), number = _vector(like, 2), ir.IntType(32)
        total = cgutils.alloca_once_value(builder, builder.load(_at(builder, sums, 0, vector), align=LINE))
        for first, last, change in ((INT64(0), on, builder.add), (on, count, builder.sub)):
            with cgutils.for_range_slice(builder, first, last, INT64(1)) as (index, _):
                place = builder.add(offsets, builder.mul(index, INT64(number.width // 8)))
                offset = builder.zext(builder.load(_at(builder, place, 0, number), align=4), INT64)
                row = builder.load(_at(builder, builder.add(rows, offset), 0, vector), align=LINE)
                builder.store(change(builder.load(total), row), total)
        builder.store(builder.load(total), _at(builder, sums, 0, vector), align=LINE)
        return context.get_dummy_value()

    return types.void(like, sums, rows, offsets, on, count), generate


@intrinsic
def prefetch_lines(typing_context, address, lines, written):
    """Fetch lines: to the first-level cache if they will be ``written`` (1), to the second-level cache if read (0)."""
    if not _literal(lines, written):
        return None

    def generate(context, builder, signature, arguments):
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        hints = [number(written.literal_value), number(3 if written.literal_value else 2), number(1)]
        for line in range(lines.literal_value):
            builder.call(prefetch, [_at(builder, arguments[0], line * LINE, ir.IntType(8)), *hints])
        return context.get_dummy_value()

    return types.void(address, lines, written), generate


@intrinsic
def binary_word(typing_context, like, states):
    """Return bits of 64 states at an address that are not 0, and those of states that are neither 0 nor 1."""

    def generate(context, builder, signature, arguments):
        number, size = _number(like)
        vector = ir.VectorType(number, WORD)
        loaded = builder.load(_at(builder, arguments[1], 0, vector), align=size)
        # Comparisons write mask registers, or bytes that are gathered from the signs of the lanes.
        differ = builder.icmp_unsigned if isinstance(number, ir.IntType) else builder.fcmp_unordered
        on, off = (differ("!=", loaded, ir.Constant(vector, [number(value)] * WORD)) for value in (0, 1))
        words = builder.bitcast(on, INT64), builder.bitcast(builder.and_(on, off), INT64)
        return context.make_tuple(builder, signature.return_type, words)

    return types.UniTuple(types.uint64, 2)(like, states), generate


@intrinsic
def transpose_lines(typing_context, like, rows, stride, out, out_stride):
    """Write the transpose of a square of one line of numbers in each of as many rows; strides are in bytes."""

    def generate(context, builder, signature, arguments):
        _, rows, stride, out, out_stride = arguments
        vector, size = _vector(like, 1)
        count = vector.count

        def pointer(base, step, row):
            return _at(builder, builder.add(base, builder.mul(step, INT64(row))), 0, vector)

        # Each round interleaves the first half of the registers with the second; log2(count) rounds transpose.
        registers = [builder.load(pointer(rows, stride, row), align=size) for row in range(count)]
        halves = [[lane // 2 + lane % 2 * count + first for lane in range(count)] for first in (0, count // 2)]
        lanes = [ir.Constant(ir.VectorType(ir.IntType(32), count), half) for half in halves]
        for _ in range(count.bit_length() - 1):
            pairs = zip(registers[: count // 2], registers[count // 2 :], strict=True)
            registers = [builder.shuffle_vector(a, b, half) for a, b in pairs for half in lanes]
        for row, register in enumerate(registers):
            builder.store(register, pointer(out, out_stride, row), align=size)
        return context.get_dummy_value()

    return types.void(like, rows, stride, out, out_stride), generate


@intrinsic
def decide_line(typing_context, sums, step, segments, coins, columns, stride, width):
    """Return bits of 16 units that are on, and bits of those that are open, at three addresses.

    ``sums`` are 16 numbers int16 for each of ``segments`` segments, q, ``step`` bytes apart; ``coins`` are 16 numbers
    uint16, k; and ``columns`` are rows of 16 numbers float32, ``stride`` bytes apart: o, u, and s of each segment. With
    t = 2^(o + sum s q) and g = u ``width`` + MARGIN, a unit is on if (k + 1) (1 + t (1 + g)) is surely at most 65536,
    off if k (1 + t (1 - g)) surely is not less, and else open.
    """
    if not _literal(segments):
        return None

    def generate(context, builder, signature, arguments):
        sums, step, _, coins, columns, stride, width = arguments
        count, number = 16, ir.FloatType()
        vector, integers = ir.VectorType(number, count), ir.VectorType(ir.IntType(32), count)
        short = ir.VectorType(ir.IntType(16), count)

        def constant(value):
            return ir.Constant(vector, [number(value)] * count)

        def fused(a, b, c):
            return builder.fadd(builder.fmul(a, b, flags=("contract",)), c, flags=("contract",))

        def bits(condition):
            return builder.zext(builder.bitcast(condition, ir.IntType(16)), INT64)

        def of_columns(row):
            return builder.load(_at(builder, builder.add(columns, builder.mul(stride, row)), 0, vector), align=4)

        y = of_columns(INT64(0))
        for segment in range(segments.literal_value):
            place = builder.add(sums, builder.mul(step, INT64(segment)))
            q = builder.sext(builder.load(_at(builder, place, 0, short), align=2), integers)
            y = fused(builder.sitofp(q, vector), of_columns(INT64(segment + 2)), y)
        for limit, exceeds in ((LIMIT, ">"), (-LIMIT, "<")):
            y = builder.select(builder.fcmp_ordered(exceeds, y, constant(limit)), constant(limit), y)
        unit = of_columns(INT64(1))
        k = builder.sitofp(builder.zext(builder.load(_at(builder, coins, 0, short), align=2), integers), vector)
        rounded = builder.fadd(y, constant(ROUND))
        fraction = builder.fsub(y, builder.fsub(rounded, constant(ROUND)))
        power = constant(POWERS[0])
        for coefficient in POWERS[1:]:
            power = fused(power, fraction, constant(coefficient))
        exponent = builder.shl(builder.bitcast(rounded, integers), ir.Constant(integers, [23] * count))
        t = builder.bitcast(builder.add(builder.bitcast(power, integers), exponent), vector)
        one_width = builder.insert_element(ir.Constant(vector, ir.Undefined), width, ir.IntType(32)(0))
        all_widths = builder.shuffle_vector(one_width, one_width, ir.Constant(integers, [0] * count))
        spread = builder.fmul(t, fused(unit, all_widths, constant(MARGIN)))
        above = builder.fadd(k, constant(1.0))
        most, least = fused(above, builder.fadd(t, spread), above), fused(k, builder.fsub(t, spread), k)
        on = builder.fcmp_ordered("<=", most, constant(SIDES * (1 - 2.0**-19)))
        off = builder.fcmp_ordered(">=", least, constant(SIDES * (1 + 2.0**-19)))
        words = bits(on), bits(builder.not_(builder.or_(on, off)))
        return context.make_tuple(builder, signature.return_type, words)

    pair = types.UniTuple(types.uint64, 2)
    return pair(sums, step, segments, coins, columns, stride, width), generate


@intrinsic
def sum_of_units_on(typing_context, words, stride, count, numbers):
    """Return the sum of numbers float32 whose bits are 1 in ``count`` words, ``stride`` bytes apart, in any order."""

    def generate(context, builder, signature, arguments):
        words, stride, count, numbers = arguments
        vector, lines = ir.VectorType(ir.FloatType(), 16), WORD // 16
        sums = [cgutils.alloca_once_value(builder, ir.Constant(vector, None)) for _ in range(lines)]
        with cgutils.for_range(builder, count) as loop:
            word = builder.load(_at(builder, builder.add(words, builder.mul(stride, loop.index)), 0, INT64))
            of_word = builder.add(numbers, builder.mul(loop.index, INT64(4 * WORD)))
            for line, total in enumerate(sums):
                bits = builder.trunc(builder.lshr(word, INT64(16 * line)), ir.IntType(16))
                mask = builder.bitcast(bits, ir.VectorType(ir.IntType(1), 16))
                added = builder.load(_at(builder, of_word, line * LINE, vector), align=4)
                added = builder.select(mask, added, ir.Constant(vector, None))
                builder.store(builder.fadd(builder.load(total), added), total)
        first, second, third, fourth = (builder.load(total) for total in sums)
        total = builder.fadd(builder.fadd(first, second), builder.fadd(third, fourth))
        kind = ir.FunctionType(ir.FloatType(), [ir.FloatType(), vector])
        reduce = cgutils.get_or_insert_function(builder.module, kind, "llvm.vector.reduce.fadd.v16f32")
        return builder.call(reduce, [ir.FloatType()(0.0), total], fastmath=("reassoc",))

    return types.float32(words, stride, count, numbers), generate


@intrinsic
def write_states(typing_context, like, word, out):
    """Write the 64 bits of a word as numbers 0 and 1 at an address."""

    def generate(context, builder, signature, arguments):
        _, word, out = arguments
        number, size = _number(like)
        bits = builder.bitcast(word, ir.VectorType(ir.IntType(1), WORD))
        vector = ir.VectorType(number, WORD)
        builder.store(builder.uitofp(bits, vector), _at(builder, out, 0, vector), align=size)
        return context.get_dummy_value()

    return types.void(like, word, out), generate


def _bit_count(name: str):
    """Return an intrinsic that applies an instruction of LLVM to a word of 64 bits."""

    @intrinsic
    def count(typing_context, word):
        def generate(context, builder, signature, arguments):
            return getattr(builder, name)(*arguments, *([ir.IntType(1)(1)] if name == "cttz" else []))

        return types.int64(types.uint64), generate

    return count


bits_on = _bit_count("ctpop")
lowest_bit = _bit_count("cttz")
