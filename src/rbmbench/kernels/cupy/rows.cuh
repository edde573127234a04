// SPDX-License-Identifier: BSD-3-Clause
// Kernels over rows of units: a CUDA block has (lanes, rows) threads, and the lanes of a row process neighbouring
// units. Sums over a row are float64, added over the lanes in a fixed order.

__device__ inline float largest(float a, float b) { return fmaxf(a, b); }
__device__ inline double largest(double a, double b) { return fmax(a, b); }
__device__ inline float logarithm(float a) { return logf(a); }
__device__ inline double logarithm(double a) { return log(a); }

// exp(-a), clamped to avoid overflow of 1 + exp(-a); the error is a probability below 2e-35 (float).
__device__ inline float exp_minus(float a) { return expf(fminf(-a, 80.0f)); }
__device__ inline double exp_minus(double a) { return exp(fmin(-a, 700.0)); }

// The row of this thread among the rows of all replicas.
struct Row {
    offset number, replica;
    bool exists;
};

__device__ inline Row this_row(offset replicas, offset rows) {
    const offset number = (offset)blockIdx.x * blockDim.y + threadIdx.y;
    return {number, number / rows, number < replicas * rows};
}

// Sum over the lanes of a row; to be called by all threads of the block.
__device__ inline double sum_over_lanes(double value, int lane, int lanes, int thread) {
    double* partial = shared_memory + thread - lane;
    partial[lane] = value;
    for (int half = lanes / 2; half > 0; half /= 2) {
        __syncthreads();
        if (lane < half) partial[lane] += partial[lane + half];
    }
    const double total = partial[0];
    __syncthreads();  // the memory may be reused
    return total;
}

// The log of a product of factors in [1, 2], with one call of log for 64 factors.
struct LogProduct {
    double log_part = 0;
    real product = 1;
    int factors = 0;

    __device__ void multiply(real factor) {
        product *= factor;
        if (++factors == 64) {
            log_part += log((double)product);
            product = 1, factors = 0;
        }
    }
    __device__ double value() const { return log_part + log((double)product); }
};

__device__ inline double sum_of_row(double value) {
    return sum_over_lanes(value, threadIdx.x, blockDim.x, threadIdx.y * blockDim.x + threadIdx.x);
}

// softplus(a) = max(a, 0) + log(1 + exp(-|a|)); with MEAN the activations are overwritten with means.
template <bool MEAN, class Activations>
__device__ inline void softplus_rows(Activations* activation, const real* bias, double* softplus, offset replicas,
                                     offset rows, offset units) {
    const Row row = this_row(replicas, rows);
    double positive = 0;
    LogProduct product;
    for (offset i = threadIdx.x; row.exists && i < units; i += blockDim.x) {
        const real a = activation[row.number * units + i] + bias[row.replica * units + i];
        const real t = exp_minus(a < 0 ? -a : a);
        positive += largest(a, real(0));
        product.multiply(1 + t);
        if constexpr (MEAN) activation[row.number * units + i] = (a < 0 ? t : real(1)) / (1 + t);
    }
    const double total = sum_of_row(positive + product.value());
    if (row.exists && threadIdx.x == 0) softplus[row.number] = total;
}

extern "C" __global__ void softplus_sum(const real* activation, const real* bias, double* softplus, offset replicas,
                                        offset rows, offset units) {
    softplus_rows<false>(activation, bias, softplus, replicas, rows, units);
}

extern "C" __global__ void bernoulli_mean_and_softplus_sum(real* activation, const real* bias, double* softplus,
                                                           offset replicas, offset rows, offset units) {
    softplus_rows<true>(activation, bias, softplus, replicas, rows, units);
}

extern "C" __global__ void softplus_difference(const real* activation, const real* bias, real first, real second,
                                               double* difference, offset replicas, offset rows, offset units) {
    const Row row = this_row(replicas, rows);
    double positive = 0;
    LogProduct first_product, second_product;
    for (offset i = threadIdx.x; row.exists && i < units; i += blockDim.x) {
        const real a = activation[row.number * units + i] + bias[row.replica * units + i];
        const real size = a < 0 ? -a : a;
        positive += largest(a, real(0));
        first_product.multiply(1 + exp_minus(first * size));
        second_product.multiply(1 + exp_minus(second * size));
    }
    const double change = (double)(second - first) * positive + second_product.value() - first_product.value();
    const double total = sum_of_row(change);
    if (row.exists && threadIdx.x == 0) difference[row.number] += total;
}

extern "C" __global__ void bernoulli_mean(real* activation, const real* bias, offset replicas, offset rows,
                                          offset units) {
    const Row row = this_row(replicas, rows);
    for (offset i = threadIdx.x; row.exists && i < units; i += blockDim.x) {
        real& a = activation[row.number * units + i];
        a = 1 / (1 + exp_minus(a + bias[row.replica * units + i]));
    }
}

// Row `row` of replica r takes data row index[r * stride + row].
extern "C" __global__ void gather_rows(const unsigned char* data, const offset* index, offset stride, real* out,
                                       offset replicas, offset rows, offset units) {
    const Row row = this_row(replicas, rows);
    if (!row.exists) return;
    const offset source = index[row.replica * stride + row.number % rows];
    for (offset i = threadIdx.x; i < units; i += blockDim.x) out[row.number * units + i] = data[source * units + i];
}

extern "C" __global__ void ascend(real* parameter, const real* up, real up_rate, const real* down, real down_rate,
                                  offset size) {
    const offset i = (offset)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < size) parameter[i] += up_rate * up[i] - down_rate * down[i];
}
