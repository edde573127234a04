// SPDX-License-Identifier: BSD-3-Clause
// Half steps of coupled Gibbs chains, for rows of several replicas. A CUDA block takes a row or a pair of rows, and its
// threads take neighbouring Philox blocks of its units.

const word ATTEMPTS = (1u << 16) - 1;
const word ROW = 0x40000000u;

// The random key of a row: unit i has position row_id * units + i.
struct RowKey {
    Draw draw;
    offset row_id, units;
    bool mirrored;
};

// Whether a unit with this mean is on; mirrored rows take 1 - u for every uniform u.
__device__ inline bool is_on(real mean, word k, const RowKey& row, offset position) {
    const real x = mean * real(SIDES) - real(row.mirrored ? 65535u - k : k);
    if (x >= 1) return true;
    if (x <= 0) return false;
    const double r = refinement(row.draw, position);
    return (row.mirrored ? 1 - r : r) < x;
}

// Call visit(unit, coin, position) for the units of a row that this thread serves.
template <class Visit>
__device__ inline void for_each_unit(const RowKey& row, Visit visit) {
    const offset begin = row.row_id * row.units, end = begin + row.units, chunk = LANES * COINS;
    const offset last = (end + chunk - 1) / chunk * LANES;
    for (offset block = begin / chunk * LANES + threadIdx.x; block < last; block += blockDim.x) {
        const Words words = philox(row.draw, (word)block);
        for (int i = 0; i < (int)COINS; i++) {
            const offset position = first_position((word)block, COINS) + i * LANES;
            if (position >= begin && position < end) visit(position - begin, coin(words, i), position);
        }
    }
}

__device__ inline real mean_of(real x) { return 1 / (1 + exp_minus(x)); }

__device__ inline RowKey attempt_of(RowKey row, word number) {
    row.draw.purpose |= number << 8;
    return row;
}

// The log of uniform `index`, 0 or 1, of a row.
__device__ inline double log_uniform(RowKey row, int index) {
    row.draw.purpose |= ROW;
    const double u = uniform_of(philox(row.draw, (word)row.row_id).at[index], 0.0);
    return log(row.mirrored ? 1 - u : u);
}

extern "C" __global__ void mean_of_rows(real* activation, const real* bias, const offset* replica, offset rows,
                                        offset units) {
    const offset i = (offset)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * units) activation[i] = mean_of(activation[i] + bias[replica[i / units] * units + i % units]);
}

extern "C" __global__ void sample_rows(const real* mean, real* out, const offset* replica, const offset* row_id,
                                       const unsigned char* mirrored, word seed, const word* trials, wide number,
                                       word purpose, offset units) {
    const offset at = blockIdx.x;
    const RowKey row = {{seed, trials[replica[at]], number, purpose}, row_id[at], units, mirrored[at] != 0};
    mean += at * units, out += at * units;
    for_each_unit(row, [&](offset i, word k, offset position) { out[i] = is_on(mean[i], k, row, position); });
}

// The activations of a pair, with bias.
struct Pair {
    const real *activation, *other, *bias;
    __device__ real x(offset i) const { return activation[i] + bias[i]; }
    __device__ real x2(offset i) const { return other[i] + bias[i]; }
};

// log p(v|h') - log p(v|h) without the normaliser, for the states v drawn from the means of one chain of the pair.
__device__ inline double difference_sum(const Pair& pair, const RowKey& row, bool with_other) {
    double sum = 0;
    for_each_unit(row, [&](offset i, word k, offset position) {
        const real x = pair.x(i), x2 = pair.x2(i);
        if (is_on(mean_of(with_other ? x2 : x), k, row, position)) sum += x2 - x;
    });
    return sum_of_row(sum);
}

// The sum of softplus(x) - softplus(x').
__device__ inline double normaliser_of(const Pair& pair, offset units) {
    double positive = 0;
    LogProduct product, other_product;
    for (offset i = threadIdx.x; i < units; i += blockDim.x) {
        const real x = pair.x(i), x2 = pair.x2(i);
        positive += largest(x, real(0)) - largest(x2, real(0));
        product.multiply(1 + exp_minus(x < 0 ? -x : x));
        other_product.multiply(1 + exp_minus(x2 < 0 ? -x2 : x2));
    }
    return sum_of_row(positive + product.value() - other_product.value());
}

// States are not stored before all tests are done, because they overwrite the activations that the tests need: they are
// computed again at the end from the random numbers of the accepted attempts.
extern "C" __global__ void couple_visible(real* activation, real* other, const real* bias, const offset* replica,
                                          const offset* row_id, const unsigned char* mirrored, word seed,
                                          const word* trials, wide number, word purpose, int redraw_both,
                                          unsigned char* met, offset* rejections, offset units) {
    const offset at = blockIdx.x;
    const RowKey row = {{seed, trials[replica[at]], number, purpose}, row_id[at], units, mirrored[at] != 0};
    activation += at * units, other += at * units;
    const Pair pair = {activation, other, bias + replica[at] * units};
    const double normaliser = normaliser_of(pair, units);
    // Sums, and so all decisions, are the same in every thread.
    const bool meets = log_uniform(row, 0) <= normaliser + difference_sum(pair, row, false);
    word accepted = 0, accepted2 = 0;
    offset rejected = 0;
    bool pending = !meets && redraw_both, pending2 = !meets;
    for (word t = 1; pending || pending2; t++) {
        const RowKey attempt = attempt_of(row, t);
        if (pending) {
            const double odds = normaliser + difference_sum(pair, attempt, false);
            pending = log_uniform(attempt, 0) <= odds && t < ATTEMPTS;
            accepted = t, rejected += pending;
        }
        if (pending2) {
            const double odds = -normaliser - difference_sum(pair, attempt, true);
            pending2 = log_uniform(attempt, 1) <= odds && t < ATTEMPTS;
            accepted2 = t, rejected += pending2;
        }
    }
    // Each thread overwrites only units that no other thread reads.
    const RowKey first = attempt_of(row, accepted), second = attempt_of(row, accepted2);
    for_each_unit(first, [&](offset i, word k, offset position) {
        activation[i] = is_on(mean_of(pair.x(i)), k, first, position);
    });
    for_each_unit(second, [&](offset i, word k, offset position) {
        other[i] = meets ? activation[i] : real(is_on(mean_of(pair.x2(i)), k, second, position));
    });
    if (threadIdx.x == 0) met[at] = meets, rejections[at] = rejected;
}
