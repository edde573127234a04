# SPDX-License-Identifier: BSD-3-Clause
"""Vector instructions for products with binary states, which Numba's loops do not compile to.

Vectors here have one or two lines of 64 bytes, whatever registers the processor has: LLVM divides them into registers
of 16, 32 or 64 bytes. Addresses are integers; ``like`` is an array that gives the type of the numbers.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LINE = 64  # bytes
GROUP = 4  # units whose sums are tabled
ENTRIES = 2**GROUP
WORD = 64  # units
INT64 = ir.IntType(64)


def _number(like):
    """Return the LLVM type of the numbers of an array, and their bytes."""
    number = {types.float32: ir.FloatType(), types.float64: ir.DoubleType(), types.uint8: ir.IntType(8)}[like.dtype]
    return number, like.dtype.bitwidth // 8


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
    """Write the 16 sums of subsets of four rows of ``lines`` lines to a table; bit k of an entry stands for row k.

    The rows are ``stride`` bytes apart, at any address; the table is aligned to lines.
    """
    if not _literal(lines):
        return None

    def generate(context, builder, signature, arguments):
        _, table, rows, stride, _ = arguments
        vector, size = _vector(like, lines.literal_value)
        # The four rows stay in registers; each sum is one addition to a sum that is already there.
        sums = [ir.Constant(vector, [0.0] * vector.count)]
        for row in range(GROUP):
            address = builder.add(rows, builder.mul(stride, INT64(row)))
            added = builder.load(_at(builder, address, 0, vector), align=size)
            sums += [added, *(builder.fadd(total, added) for total in sums[1:])]
        for entry, total in enumerate(sums):
            builder.store(total, _at(builder, table, entry * lines.literal_value * LINE, vector), align=LINE)
        return context.get_dummy_value()

    return types.void(like, table, rows, stride, lines), generate


@intrinsic
def add_looked_up(typing_context, like, sums, out, tables, word, groups, lines):
    """Write the sums at ``sums`` plus one entry from each of ``groups`` tables to ``out``.

    The entry of table g is bits 4 g to 4 g + 3 of ``word``. Tables and sums are aligned to lines; ``out`` is not.
    """
    if not _literal(groups, lines):
        return None

    def generate(context, builder, signature, arguments):
        _, sums, out, tables, word, _, _ = arguments
        vector, size = _vector(like, lines.literal_value)
        entry = lines.literal_value * LINE

        def looked_up(group):
            code = builder.and_(builder.lshr(word, INT64(GROUP * group)), INT64(ENTRIES - 1))
            address = builder.add(tables, builder.mul(code, INT64(entry)))
            return builder.load(_at(builder, address, group * ENTRIES * entry, vector), align=LINE)

        # The sums stay in registers. Entries are added in pairs, so that two chains of additions run at a time.
        total = builder.load(_at(builder, sums, 0, vector), align=LINE)
        for group in range(0, groups.literal_value, 2):
            total = builder.fadd(total, builder.fadd(looked_up(group), looked_up(group + 1)))
        builder.store(total, _at(builder, out, 0, vector), align=size)
        return context.get_dummy_value()

    return types.void(like, sums, out, tables, word, groups, lines), generate


@intrinsic
def prefetch_lines(typing_context, address, lines, written):
    """Fetch lines: to the first-level cache if they will be ``written`` (1), to the second-level cache if read (0)."""
    if not _literal(lines, written):
        return None

    def generate(context, builder, signature, arguments):
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        how = [number(written.literal_value), number(3 if written.literal_value else 2), number(1)]
        for line in range(lines.literal_value):
            builder.call(prefetch, [_at(builder, arguments[0], line * LINE, ir.IntType(8)), *how])
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
