// SPDX-License-Identifier: BSD-3-Clause
// Kernels for products of binary states on tensor cores, and for states as bits.
//
// A bfloat16 number is the upper half of a float32. It holds 0 and 1 exactly, and any float32 is the sum of three: 24 bits
// of mantissa are three times 8. The remainder of rounding to the nearest is exact in float32.

typedef unsigned short half;

union Float {
    float number;
    word bits;
};

__device__ inline half rounded_half(float number) {
    Float full;
    full.number = number;
    return (half)((full.bits + 0x7FFFu + ((full.bits >> 16) & 1u)) >> 16);
}

__device__ inline float from_half(half upper) {
    Float full;
    full.bits = (word)upper << 16;
    return full.number;
}

// Write three bfloat16 numbers for each number: all first ones, all second ones, all third ones.
extern "C" __global__ void cut(const real* numbers, half* parts, offset size) {
    const offset i = (offset)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size) return;
    float remainder = (float)numbers[i];
    for (int part = 0; part < 3; part++) {
        parts[part * size + i] = rounded_half(remainder);
        remainder -= from_half(parts[part * size + i]);
    }
}

// Write states as bfloat16; other numbers than 0 and 1 become NaN, so that they are not taken for states.
extern "C" __global__ void half_states(const real* states, half* halves, offset size) {
    const offset i = (offset)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) halves[i] = states[i] == 0 ? 0 : states[i] == 1 ? 0x3F80 : 0x7FC0;
}

// Bit i of word w of a row is unit 64 w + i.

extern "C" __global__ void pack_rows(const unsigned char* states, wide* words, offset rows, offset units) {
    const offset of_row = (units + 63) / 64, i = (offset)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * of_row) return;
    const offset row = i / of_row, first = i % of_row * 64, last = first + 64 < units ? first + 64 : units;
    wide packed = 0;
    for (offset unit = first; unit < last; unit++) packed |= (wide)(states[row * units + unit] != 0) << (unit - first);
    words[i] = packed;
}

// A thread counts for one row.
extern "C" __global__ void count_distances(const wide* rows, const wide* samples, offset* counts, offset replicas,
                                           offset number, offset of_replica, offset of_row, offset lengths) {
    const offset i = (offset)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= replicas * number) return;
    const wide* row = rows + i % number * of_row;
    const wide* sample = samples + i / number * of_replica * of_row;
    for (offset s = 0; s < of_replica; s++, sample += of_row) {
        offset distance = 0;
        for (offset w = 0; w < of_row; w++) distance += __popcll(row[w] ^ sample[w]);
        counts[i * lengths + distance] += 1;
    }
}
