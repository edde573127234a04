// SPDX-License-Identifier: BSD-3-Clause
// Kernels for states as bits. Bit i of word w of a row is unit 64 w + i.

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
