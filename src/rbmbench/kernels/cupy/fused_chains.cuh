// SPDX-License-Identifier: BSD-3-Clause
// The chains of a trial in fused iterations, by one CUDA block of (LANES, rows at once) threads. The lanes of a row
// process neighbouring units, so that successive units of a lane take their coins from the same Philox block. Draws and
// positions are those of the ordinary kernels.

// Data of a trial. The row stride of W is odd, which avoids bank conflicts along rows and columns.
struct Trial {
    int rows, m, n, stride;
    real *W, *b, *c;
    double* log_weight;             // (rows,), if rows are weighted
    real *positive, *negative;      // (rows, n): p(h|v) of the mini-batch and of the ends of the chains
    real* weight;                   // (rows,), if rows are weighted
    unsigned char *batch, *visible;  // (rows, m): the mini-batch, and the chains
    unsigned char* hidden;          // (rows, n)
};

__device__ inline int thread_number() { return threadIdx.y * blockDim.x + threadIdx.x; }
__device__ inline int thread_count() { return blockDim.y * blockDim.x; }

// Coins for the positions of a lane: a Philox block is computed when its first coin is needed.
struct Coins {
    Draw draw;
    word block;
    Words words;

    __device__ explicit Coins(const Draw& draw) : draw(draw), block(~0u), words{{0, 0, 0, 0}} {}

    __device__ word at(word position) {
        const word needed = position / (LANES * COINS) * LANES + position % LANES;
        if (needed != block) block = needed, words = philox(draw, needed);
        const word i = position / LANES % COINS, j = i % 4;
        const word both = j < 2 ? (j == 0 ? words.at[0] : words.at[1]) : (j == 2 ? words.at[2] : words.at[3]);
        return i < 4 ? both & 0xFFFFu : both >> 16;
    }
};

// Call visit(row, unit) for all units of all rows, in the lanes of the row; then synchronise.
template <class Visit>
__device__ inline void each_unit(int rows, int units, Visit visit) {
    for (int row = threadIdx.y; row < rows; row += blockDim.y)
        for (int unit = threadIdx.x; unit < units; unit += blockDim.x) visit(row, unit);
    __syncthreads();
}

// Call visit(i) for i from 0 to count - 1, each in one thread.
template <class Visit>
__device__ inline void each(int count, Visit visit) {
    for (int i = thread_number(); i < count; i += thread_count()) visit(i);
}

__device__ inline real hidden_activation(const Trial& s, const unsigned char* v, int j) {
    real a = 0;
    for (int i = 0; i < s.m; i++) a += v[i] ? s.W[i * s.stride + j] : real(0);
    return a + s.c[j];
}

__device__ inline real visible_activation(const Trial& s, const unsigned char* h, int i) {
    real a = 0;
    for (int j = 0; j < s.n; j++) a += h[j] ? s.W[i * s.stride + j] : real(0);
    return a + s.b[i];
}

__device__ inline void hidden_means(const Trial& s, const unsigned char* visible, real* mean) {
    each_unit(s.rows, s.n, [&](int row, int j) {
        mean[row * s.n + j] = 1 / (1 + exp_minus(hidden_activation(s, visible + row * s.m, j)));
    });
}

// First half step of the chains: h ~ p(h|v); the means are stored.
__device__ inline void begin_chains(const Trial& s, const unsigned char* visible, real* mean, const Draw& draw) {
    Coins coins(draw);
    each_unit(s.rows, s.n, [&](int row, int j) {
        const int p = row * s.n + j;
        mean[p] = 1 / (1 + exp_minus(hidden_activation(s, visible + row * s.m, j)));
        s.hidden[p] = toss_mean(mean[p], coins.at(p), draw, p);
    });
}

__device__ inline void sample_hidden_units(const Trial& s, const Draw& draw) {
    Coins coins(draw);
    each_unit(s.rows, s.n, [&](int row, int j) {
        const int p = row * s.n + j;
        s.hidden[p] = toss(hidden_activation(s, s.visible + row * s.m, j), coins.at(p), draw, p).on;
    });
}

__device__ inline void sample_visible_units(const Trial& s, const Draw& draw) {
    Coins coins(draw);
    each_unit(s.rows, s.m, [&](int row, int i) {
        const int p = row * s.m + i;
        s.visible[p] = toss(visible_activation(s, s.hidden + row * s.n, i), coins.at(p), draw, p).on;
    });
}

// Sample v ~ p(v|h') of one row; return this lane's share of log p(v|h').
__device__ inline double sample_row_and_score(const Trial& s, int row, const Draw& draw, Coins& coins) {
    double log_proposal = 0;
    for (int i = threadIdx.x; i < s.m; i += blockDim.x) {
        const int p = row * s.m + i;
        const real x = visible_activation(s, s.hidden + row * s.n, i);
        const Toss tossed = toss(x, coins.at(p), draw, p);
        s.visible[p] = tossed.on;
        log_proposal += score(tossed, x);
    }
    return log_proposal;
}

// Write p(h|v) of one row; return this lane's share of log p~(v) = b'v + sum_j log(1 + exp(c_j + (v'W)_j)).
__device__ inline double hidden_means_of_row(const Trial& s, int row) {
    double share = 0;
    LogProduct product;
    for (int j = threadIdx.x; j < s.n; j += blockDim.x) {
        const real a = hidden_activation(s, s.visible + row * s.m, j);
        const real t = exp_minus(a < 0 ? -a : a);
        share += largest(a, real(0));
        product.multiply(1 + t);
        s.negative[row * s.n + j] = (a < 0 ? t : real(1)) / (1 + t);
    }
    for (int i = threadIdx.x; i < s.m; i += blockDim.x) share += s.visible[row * s.m + i] ? s.b[i] : real(0);
    return share + product.value();
}

// The last visible half step, p(h|v), and log w = log p~(v) - log p(v|h') of every row.
__device__ inline void weigh_ends(const Trial& s, const Draw& draw) {
    Coins coins(draw);
    for (int first = 0; first < s.rows; first += blockDim.y) {
        const int row = first + threadIdx.y;
        const double log_proposal = row < s.rows ? sample_row_and_score(s, row, draw, coins) : 0.0;
        __syncthreads();  // all units of the row are sampled
        const double log_weight = row < s.rows ? hidden_means_of_row(s, row) - log_proposal : 0.0;
        const double total = sum_of_row(log_weight);
        if (row < s.rows && threadIdx.x == 0) s.log_weight[row] = total;
    }
    __syncthreads();
}

// Combine the values of all threads in a fixed order.
template <class Combine>
__device__ inline double over_block(double value, Combine combine) {
    const int thread = thread_number();
    shared_memory[thread] = value;
    for (int half = thread_count() / 2; half > 0; half /= 2) {
        __syncthreads();
        if (thread < half) shared_memory[thread] = combine(shared_memory[thread], shared_memory[thread + half]);
    }
    __syncthreads();
    const double result = shared_memory[0];
    __syncthreads();  // the memory may be reused
    return result;
}

__device__ inline double sum_of_block(double value) {
    return over_block(value, [](double a, double b) { return a + b; });
}

// weight = softmax(log w); return the effective sample size (sum w)^2 / sum w^2.
__device__ inline double normalise_weights(const Trial& s) {
    double top = s.log_weight[0], sum = 0, squares = 0;
    each(s.rows, [&](int row) { top = largest(top, s.log_weight[row]); });
    top = over_block(top, [](double a, double b) { return largest(a, b); });
    each(s.rows, [&](int row) {
        const double w = exp(s.log_weight[row] - top);
        s.log_weight[row] = w, sum += w, squares += w * w;
    });
    sum = sum_of_block(sum), squares = sum_of_block(squares);
    each(s.rows, [&](int row) { s.weight[row] = (real)(s.log_weight[row] / sum); });
    __syncthreads();
    return sum * sum / squares;
}
