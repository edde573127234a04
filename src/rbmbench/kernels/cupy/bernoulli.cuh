// SPDX-License-Identifier: BSD-3-Clause
// Sampling. A unit is on if its uniform (k + r) / 65536 is below its mean. k is its 16-bit coin, which decides in all
// but one of 65536 cases; otherwise r is drawn for this unit, and the comparison is made in float64.

const double SIDES = 65536;

// Whether a unit with activation x is on; `open` if the coin has not decided.
struct Toss {
    bool on, open;
    real probability;  // of the state, unless open
};

__device__ inline Toss toss(real x, word k, const Draw& draw, offset position) {
    const real t = exp_minus(x), s = 1 + t, at_least = k * s;
    Toss result;
    result.on = at_least + s <= real(SIDES);
    result.open = !result.on && at_least < real(SIDES);
    result.probability = (result.on ? real(1) : t) / s;
    if (result.open) result.on = refinement(draw, position) < SIDES / (1 + exp(-(double)x)) - k;
    return result;
}

// Whether a unit with this mean is on. Exact: scaling by a power of 2 and the difference of close numbers do not round.
__device__ inline bool toss_mean(real mean, word k, const Draw& draw, offset position) {
    const real x = mean * real(SIDES) - real(k);
    return x >= 1 || (x > 0 && refinement(draw, position) < x);
}

// The replica and the Philox block of this thread, for `size` units per replica.
struct BlockIndex {
    offset replica;
    word block;
    bool exists;
};

__device__ inline BlockIndex this_block(offset replicas, offset size) {
    const offset blocks = blocks_for(size, COINS);
    const offset thread = (offset)blockIdx.x * blockDim.x + threadIdx.x;
    return {thread / blocks, (word)(thread % blocks), thread < replicas * blocks};
}

extern "C" __global__ void sample(const real* mean, real* out, word seed, const word* trials, wide number, word purpose,
                                  offset replicas, offset size) {
    const BlockIndex at = this_block(replicas, size);
    if (!at.exists) return;
    const Draw draw = {seed, trials[at.replica], number, purpose};
    const Words words = philox(draw, at.block);
    const offset start = at.replica * size, first = first_position(at.block, COINS);
#pragma unroll
    for (int i = 0; i < (int)COINS; i++) {
        const offset position = first + i * LANES;
        if (position >= size) return;
        out[start + position] = toss_mean(mean[start + position], coin(words, i), draw, position);
    }
}

extern "C" __global__ void sample_bernoulli(real* activation, const real* bias, real scale, word seed,
                                            const word* trials, wide number, word purpose, offset replicas, offset size,
                                            word units) {
    const BlockIndex at = this_block(replicas, size);
    if (!at.exists) return;
    const Draw draw = {seed, trials[at.replica], number, purpose};
    const Words words = philox(draw, at.block);
    const offset start = at.replica * size, first = first_position(at.block, COINS);
    word unit = (word)first % units;  // positions are Philox counters: 32 bits hold them
#pragma unroll
    for (int i = 0; i < (int)COINS; i++) {
        const offset position = first + i * LANES;
        if (position >= size) return;
        const real x = scale * activation[start + position] + bias[at.replica * units + unit];
        activation[start + position] = toss(x, coin(words, i), draw, position).on;
        unit += LANES;
        if (unit >= units) unit %= units;
    }
}

// log p(state) of a unit; the probability of an open one may underflow float32.
__device__ inline real score(const Toss& tossed, real x) {
    return tossed.open ? real(-log1p(exp(tossed.on ? -(double)x : (double)x))) : logarithm(tossed.probability);
}

// Sample the units that one Philox block serves among the positions `begin` to `end`; scores[p - window] is that of p.
__device__ inline void sample_and_score(real* activation, const real* bias, const Draw& draw, word block, offset begin,
                                        offset end, word units, real* scores, offset window) {
    if (first_position(block, COINS) >= end) return;
    const Words words = philox(draw, block);
    for (int i = 0; i < (int)COINS; i++) {
        const offset position = first_position(block, COINS) + i * LANES;
        if (position < begin || position >= end) continue;
        const real x = activation[position] + bias[(word)position % units];
        const Toss tossed = toss(x, coin(words, i), draw, position);
        activation[position] = tossed.on;
        scores[position - window] = score(tossed, x);
    }
}

// A CUDA block takes several rows of one replica. Philox blocks do not end where rows do, so positions are processed in
// windows of one Philox block per thread, and scores are passed to the lanes of their row through shared memory.
extern "C" __global__ void sample_bernoulli_and_log_probability(real* activation, const real* bias,
                                                                double* log_probability, word seed, const word* trials,
                                                                wide number, word purpose, offset rows, word units,
                                                                offset blocks_of_replica) {
    const offset replica = blockIdx.x / blocks_of_replica;
    const offset first_row = blockIdx.x % blocks_of_replica * blockDim.y;
    const offset row = first_row + threadIdx.y;
    const offset begin = first_row * units, end = (first_row + blockDim.y < rows ? first_row + blockDim.y : rows) * units;
    const word thread = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
    const Draw draw = {seed, trials[replica], number, purpose};
    real* scores = (real*)(shared_memory + threads);  // the sum over lanes comes first
    activation += replica * rows * units, bias += replica * units;
    double sum = 0;
    const offset chunk = LANES * COINS;
    for (offset window = begin / chunk * chunk; window < end; window += (offset)threads * COINS) {
        sample_and_score(activation, bias, draw, (word)(window / COINS) + thread, begin, end, units, scores, window);
        __syncthreads();
        const offset row_begin = row * units > window ? row * units : window;
        const offset row_end = (row + 1) * units < window + threads * COINS ? (row + 1) * units : window + threads * COINS;
        for (offset p = row_begin + threadIdx.x; row < rows && p < row_end; p += blockDim.x) sum += scores[p - window];
        __syncthreads();
    }
    const double total = sum_of_row(sum);
    if (row < rows && threadIdx.x == 0) log_probability[replica * rows + row] = total;
}
