// SPDX-License-Identifier: BSD-3-Clause
// Log weights of all hidden states by the split product: the hidden units are halved, and a weight's factors are
// 1 + A[s, i] B[i, t] for a state s of one half and t of the other. The host divides the visible units into groups
// whose products fit float64. Always in float64.

// out[s, t] = score_a[s] + score_b[t] + sum_i log(1 + A[s, i] B[i, t]); A (states_a, units), B (units, states_b).
// Threads of a CUDA block share s and take neighbouring t, so that accesses to B and out are coalesced.
extern "C" __global__ void split_product(const double* A, const double* B, const int* groups, int group_count,
                                         const double* score_a, const double* score_b, double* out, offset states_a,
                                         offset states_b, offset units) {
    const offset columns = (states_b + blockDim.x - 1) / blockDim.x;
    const offset s = blockIdx.x / columns, t = blockIdx.x % columns * blockDim.x + threadIdx.x;
    if (s >= states_a || t >= states_b) return;
    double total = score_a[s] + score_b[t];
    for (int g = 0; g < group_count; g++) {
        double product = 1;
        for (int i = groups[g]; i < groups[g + 1]; i++) product *= 1 + A[s * units + i] * B[i * states_b + t];
        total += log(product);
    }
    out[s * states_b + t] = total;
}
