// SPDX-License-Identifier: BSD-3-Clause
// Whole training iterations of small RBMs by CD-k, PCD-k and pop-CD-k. One CUDA block makes all iterations of a launch
// for one trial, with the parameters in shared memory; ordinary iterations take about twenty launches each.

const int FUSED_THREADS = 512;  // fused.py starts as many

// The update parameter += up_rate * up - down_rate * down, where up and down are sums over the rows of the two phases.
struct Ascent {
    real up_rate, down_rate;
    bool weighted;  // rows of the negative phase

    __device__ real weight(const Trial& s, int row) const { return weighted ? s.weight[row] : real(1); }

    // Return whether the parameter is still finite.
    __device__ bool move(real& parameter, real up, real down) const {
        parameter += up_rate * up - down_rate * down;
        return parameter - parameter == 0;
    }
};

// Update this thread's share of the parameters; return whether they are finite.
__device__ inline bool ascend_all(const Trial& s, const Ascent& ascent) {
    bool finite = true;
    each(s.m * s.n, [&](int entry) {
        const int i = entry / s.n, j = entry % s.n;
        real up = 0, down = 0;
        for (int row = 0; row < s.rows; row++) {
            up += s.batch[row * s.m + i] ? s.positive[row * s.n + j] : real(0);
            down += s.visible[row * s.m + i] ? ascent.weight(s, row) * s.negative[row * s.n + j] : real(0);
        }
        finite &= ascent.move(s.W[i * s.stride + j], up, down);
    });
    each(s.m, [&](int i) {
        real up = 0, down = 0;
        for (int row = 0; row < s.rows; row++) {
            up += s.batch[row * s.m + i];
            down += s.visible[row * s.m + i] ? ascent.weight(s, row) : real(0);
        }
        finite &= ascent.move(s.b[i], up, down);
    });
    each(s.n, [&](int j) {
        real up = 0, down = 0;
        for (int row = 0; row < s.rows; row++) {
            up += s.positive[row * s.n + j];
            down += ascent.weight(s, row) * s.negative[row * s.n + j];
        }
        finite &= ascent.move(s.c[j], up, down);
    });
    return finite;
}

// Both phases of an iteration, with 2 k draws. Returns the effective sample size, or 0 without weights.
__device__ inline double make_phases(const Trial& s, int k, bool persistent, bool weighted, Draw& draw) {
    if (persistent) {
        hidden_means(s, s.batch, s.positive);
        begin_chains(s, s.visible, s.negative, draw);
    } else {
        begin_chains(s, s.batch, s.positive, draw);
    }
    draw.number++;
    for (int step = 1; step < k; step++) {
        sample_visible_units(s, draw), draw.number++;
        sample_hidden_units(s, draw), draw.number++;
    }
    double effective_size = 0;
    if (weighted) {
        weigh_ends(s, draw);
        effective_size = normalise_weights(s);
    } else {
        sample_visible_units(s, draw);
        hidden_means(s, s.visible, s.negative);
    }
    draw.number++;
    return effective_size;
}

// Divide memory into the parameters of a trial and its workspace, from the widest type to the narrowest. fused.py
// computes its size.
__device__ inline void cut_memory(Trial& s, double* parameters, double* workspace, bool weighted) {
    s.W = (real*)parameters;
    s.b = s.W + s.m * s.stride, s.c = s.b + s.m;
    s.log_weight = workspace;
    s.positive = (real*)(s.log_weight + (weighted ? s.rows : 0));
    s.negative = s.positive + s.rows * s.n;
    s.weight = s.negative + s.rows * s.n;
    s.batch = (unsigned char*)(s.weight + (weighted ? s.rows : 0));
    s.visible = s.batch + s.rows * s.m;
    s.hidden = s.visible + s.rows * s.m;
}

// The parameters of a trial in global memory, with contiguous W.
struct Parameters {
    real *W, *b, *c;
};

__device__ inline void take_in(const Trial& s, const Parameters& outside) {
    each(s.m * s.n, [&](int entry) { s.W[entry / s.n * s.stride + entry % s.n] = outside.W[entry]; });
    each(s.m, [&](int i) { s.b[i] = outside.b[i]; });
    each(s.n, [&](int j) { s.c[j] = outside.c[j]; });
}

__device__ inline void give_back(const Trial& s, const Parameters& outside) {
    each(s.m * s.n, [&](int entry) { outside.W[entry] = s.W[entry / s.n * s.stride + entry % s.n]; });
    each(s.m, [&](int i) { outside.b[i] = s.b[i]; });
    each(s.n, [&](int j) { outside.c[j] = s.c[j]; });
}

// Iterations first + 1 to first + iterations of all trials; see fused.py for the arguments. Iteration t of replica r
// takes the data rows index[r * index_stride + t * rows] and following. The workspace of a trial is in shared memory
// after the sums over lanes and the parameters, or in `workspace` (workspace_doubles per trial) if given.
extern "C" __global__ __launch_bounds__(FUSED_THREADS, 1) void fused_iterations(
    real* W, real* b, real* c, const unsigned char* data, const offset* index, offset index_stride, real* chains,
    double* effective_sizes, offset* not_finite, double* workspace, offset workspace_doubles, word seed,
    const word* trials, wide number, word purpose, real up_rate, real down_rate, offset first, int iterations, int k,
    int rows, int m, int n) {
    const offset replica = blockIdx.x;
    if (not_finite[replica]) return;
    Trial s = {};
    s.rows = rows, s.m = m, s.n = n, s.stride = n | 1;
    double* parameters = shared_memory + thread_count();
    const int parameter_bytes = (m * s.stride + m + n) * (int)sizeof(real);
    double* own_workspace = workspace ? workspace + replica * workspace_doubles : parameters + (parameter_bytes + 7) / 8;
    cut_memory(s, parameters, own_workspace, effective_sizes);
    const Parameters outside = {W + replica * m * n, b + replica * m, c + replica * n};
    take_in(s, outside);
    if (chains) each(rows * m, [&](int p) { s.visible[p] = chains[replica * rows * m + p] != 0; });
    Draw draw = {seed, trials[replica], number, purpose};
    const Ascent ascent = {up_rate, down_rate, effective_sizes != nullptr};
    double sizes = effective_sizes ? effective_sizes[replica] : 0;
    bool finite = true;
    for (int t = 0; t < iterations && finite; t++) {
        const offset* chosen = index ? index + replica * index_stride + (offset)t * rows : nullptr;
        each_unit(rows, m, [&](int row, int i) { s.batch[row * m + i] = data[(chosen ? chosen[row] : row) * m + i]; });
        sizes += make_phases(s, k, chains, effective_sizes, draw);
        finite = sum_of_block(ascend_all(s, ascent) ? 0 : 1) == 0;
        if (!finite && thread_number() == 0) not_finite[replica] = first + t + 1;
    }
    give_back(s, outside);
    if (chains) each(rows * m, [&](int p) { chains[replica * rows * m + p] = s.visible[p]; });
    if (effective_sizes && thread_number() == 0) effective_sizes[replica] = sizes;
}
