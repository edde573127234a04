// SPDX-License-Identifier: BSD-3-Clause
// Philox4x32-10 (Salmon et al. 2011) and the positions of its random numbers. One thread computes one block of four
// words and uses the 8 coins or 4 uniforms made from it, which are 16 positions apart, so that the 16 lanes of a chunk
// read and write neighbouring elements.

const word COINS = 8, UNIFORMS = 4, LANES = 16;
const word REFINED = 0x80000000u;

struct Draw {
    word seed, trial;
    wide number;
    word purpose;
};

struct Words {
    word at[4];
};

__device__ inline Words philox(const Draw& draw, word block) {
    word c0 = block, c1 = (word)draw.number, c2 = (word)(draw.number >> 32), c3 = draw.purpose;
    word k0 = draw.seed, k1 = draw.trial;
#pragma unroll
    for (int round = 0; round < 10; round++) {
        const word high0 = __umulhi(0xD2511F53u, c0), low0 = 0xD2511F53u * c0;
        const word high1 = __umulhi(0xCD9E8D57u, c2), low1 = 0xCD9E8D57u * c2;
        c0 = high1 ^ c1 ^ k0, c2 = high0 ^ c3 ^ k1;
        c1 = low1, c3 = low0;
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    return {{c0, c1, c2, c3}};
}

// Position of the first of the `numbers` of a block; the others follow at distances of LANES.
__device__ inline offset first_position(word block, word numbers) {
    return (offset)(block / LANES) * LANES * numbers + block % LANES;
}

// The i-th coin of a block: 16 bits, low halves first.
__device__ inline word coin(const Words& words, int i) {
    return i < 4 ? words.at[i] & 0xFFFFu : words.at[i - 4] >> 16;
}

__device__ inline float uniform_of(word x, float) { return (float)(x >> 8) * 0x1p-24f; }
__device__ inline double uniform_of(word x, double) { return (x + 0.5) * 0x1p-32; }

// The uniform r for a unit whose coin does not decide.
__device__ inline double refinement(Draw draw, offset position) {
    draw.purpose ^= REFINED;
    return uniform_of(philox(draw, (word)position).at[0], 0.0);
}

// Number of blocks for the first `size` positions: whole chunks of LANES blocks. As in bernoulli.py.
__device__ inline offset blocks_for(offset size, word numbers) {
    const offset chunk = (offset)LANES * numbers;
    return (size + chunk - 1) / chunk * LANES;
}

// Uniforms (replicas, stride), of which stride is a whole number of chunks.
extern "C" __global__ void uniforms(real* out, word seed, const word* trials, wide number, word purpose, offset replicas,
                                    offset stride) {
    const offset blocks = stride / UNIFORMS;
    const offset thread = (offset)blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= replicas * blocks) return;
    const offset replica = thread / blocks;
    const word block = (word)(thread % blocks);
    const Words words = philox({seed, trials[replica], number, purpose}, block);
    real* target = out + replica * stride + first_position(block, UNIFORMS);
#pragma unroll
    for (int i = 0; i < (int)UNIFORMS; i++) target[i * LANES] = uniform_of(words.at[i], real(0));
}
