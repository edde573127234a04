// SPDX-License-Identifier: BSD-3-Clause
// Tempered chains: one CUDA block advances one set of chains of one replica through all sweeps in one launch. A block
// has (lanes, chains at once) threads, and the lanes of a chain process neighbouring units.

// Data of a set of chains.
struct Chains {
    const real *W, *W_transposed, *b, *c, *beta;
    int m, n, chains;
    double* energy = nullptr;          // (chains,)
    real* u = nullptr;                 // the sweep's uniforms: hidden, visible, swaps
    int* holder = nullptr;             // row of `visible` that holds the state of a chain
    unsigned char* visible = nullptr;  // (chains, m)
    unsigned char* hidden = nullptr;   // (chains, n)
};

__device__ inline bool is_on(real u, real x) { return u * (1 + exp_minus(x)) < 1; }

// Write the `count` uniforms from position `start` on: u[p - start] for position p.
__device__ inline void fill_uniforms(const Draw& draw, offset start, int count, real* u, int thread, int threads) {
    const offset chunk = LANES * UNIFORMS, first = start / chunk, last = (start + count + chunk - 1) / chunk;
    for (offset block = first * LANES + thread; block < last * LANES; block += threads) {
        const Words words = philox(draw, (word)block);
        for (int i = 0; i < (int)UNIFORMS; i++) {
            const offset p = first_position((word)block, UNIFORMS) + i * LANES - start;
            if (p >= 0 && p < count) u[p] = uniform_of(words.at[i], real(0));
        }
    }
}

__device__ inline void sample_hidden(const Chains& s, int k, int lane, int lanes) {
    const unsigned char* v = s.visible + s.holder[k] * s.m;
    for (int j = lane; j < s.n; j += lanes) {
        real a = s.c[j];
        for (int i = 0; i < s.m; i++)
            if (v[i]) a += s.W[(offset)i * s.n + j];
        s.hidden[k * s.n + j] = is_on(s.u[k * s.n + j], s.beta[k] * a);
    }
}

// Sample the visible units; return this lane's share of the energy E(v, h) = -v'(b + W h) - c'h.
__device__ inline double sample_visible(const Chains& s, int k, int lane, int lanes) {
    const unsigned char* h = s.hidden + k * s.n;
    unsigned char* v = s.visible + s.holder[k] * s.m;
    double energy = 0;
    for (int j = lane; j < s.n; j += lanes)
        if (h[j]) energy -= s.c[j];
    for (int i = lane; i < s.m; i += lanes) {
        real a = s.b[i];
        for (int j = 0; j < s.n; j++)
            if (h[j]) a += s.W_transposed[(offset)j * s.m + i];
        v[i] = is_on(s.u[s.chains * s.n + k * s.m + i], s.beta[k] * a);
        if (v[i]) energy -= a;
    }
    return energy;
}

// Propose to swap the states of chains k and k + 1, by exchanging the rows that hold them.
__device__ inline void swap_neighbours(const Chains& s, int k) {
    const double exponent = (s.beta[k] - s.beta[k + 1]) * (s.energy[k] - s.energy[k + 1]);
    if (exponent < 0 && !(s.u[s.chains * (s.m + s.n) + k] < exp(exponent))) return;
    const double energy = s.energy[k];
    const int holder = s.holder[k];
    s.energy[k] = s.energy[k + 1], s.holder[k] = s.holder[k + 1];
    s.energy[k + 1] = energy, s.holder[k + 1] = holder;
}

__device__ inline void make_sweep(const Chains& s, int thread, int threads) {
    const int lane = threadIdx.x, lanes = blockDim.x, at_once = blockDim.y;
    for (int k = threadIdx.y; k < s.chains; k += at_once) sample_hidden(s, k, lane, lanes);
    __syncthreads();
    for (int first = 0; first < s.chains; first += at_once) {
        const int k = first + threadIdx.y;
        const double energy = sum_of_row(k < s.chains ? sample_visible(s, k, lane, lanes) : 0.0);
        if (k < s.chains && lane == 0) s.energy[k] = energy;
    }
    __syncthreads();
    for (int first = 0; first < 2; first++) {
        for (int k = first + 2 * thread; k + 1 < s.chains; k += 2 * threads) swap_neighbours(s, k);
        __syncthreads();
    }
}

// Divide the memory of a set into its parts, from the widest type to the narrowest. tempering.py computes its size.
__device__ inline void cut_workspace(Chains& s, double* memory) {
    s.energy = memory;
    s.u = (real*)(s.energy + s.chains);
    s.holder = (int*)(s.u + s.chains * (s.m + s.n + 1));
    s.visible = (unsigned char*)(s.holder + s.chains);
    s.hidden = s.visible + s.chains * s.m;
}

// visible (replicas, sets, chains, m); samples (replicas, sets, sweeps, m). The workspace of a set is in shared memory
// after the sums over lanes, or in `workspace` (workspace_doubles per set) if given.
extern "C" __global__ void tempered_sweeps(const real* W, const real* W_transposed, const real* b, const real* c,
                                           const real* beta, word seed, const word* trials, wide number, word purpose,
                                           real* visible, real* samples, double* workspace, offset workspace_doubles,
                                           int sets, int chains, int m, int n, int sweeps) {
    const offset replica = blockIdx.x / sets, set = blockIdx.x % sets;
    const int thread = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
    const offset parameters = replica * m * n;
    Chains s = {W + parameters, W_transposed + parameters, b + replica * m, c + replica * n, beta, m, n, chains};
    cut_workspace(s, workspace ? workspace + blockIdx.x * workspace_doubles : shared_memory + threads);
    visible += (offset)blockIdx.x * chains * m, samples += (offset)blockIdx.x * sweeps * m;
    for (int i = thread; i < chains * m; i += threads) s.visible[i] = visible[i] != 0;
    for (int k = thread; k < chains; k += threads) s.holder[k] = k;
    const int numbers = chains * (m + n + 1);
    for (int sweep = 0; sweep < sweeps; sweep++) {
        const Draw draw = {seed, trials[replica], number + sweep, purpose};
        fill_uniforms(draw, set * numbers, numbers, s.u, thread, threads);
        __syncthreads();
        make_sweep(s, thread, threads);
        for (int i = thread; i < m; i += threads)
            samples[(offset)sweep * m + i] = s.visible[s.holder[chains - 1] * m + i];
        __syncthreads();
    }
    for (int i = thread; i < chains * m; i += threads) visible[i] = s.visible[s.holder[i / m] * m + i % m];
}
