// SPDX-License-Identifier: BSD-3-Clause
// Kernels for samplers. A thread changes one parameter.

extern "C" __global__ void unlearn_samples(real* W, real* b, real* c, const real* drift_W, const real* drift_b,
                                           const real* drift_c, const real* decay, const real* rate,
                                           const real* visible, const real* hidden, offset replicas, offset chains,
                                           offset m, offset n) {
    const offset weights = m * n, per_replica = weights + m + n;
    const offset i = (offset)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= replicas * per_replica) return;
    const offset r = i / per_replica, p = i % per_replica;
    const real* x = visible + r * chains * m;
    const real* h = hidden + r * chains * n;
    real* parameter = W + r * weights + p;
    real drift = 0, sum = 0;
    if (p < weights) {
        drift = drift_W[r * weights + p];
        for (offset k = 0; k < chains; k++) sum += x[k * m + p / n] * h[k * n + p % n];
    } else if (p < weights + m) {
        const offset unit = p - weights;
        parameter = b + r * m + unit;
        drift = drift_b[r * m + unit];
        for (offset k = 0; k < chains; k++) sum += x[k * m + unit];
    } else {
        const offset unit = p - weights - m;
        parameter = c + r * n + unit;
        drift = drift_c[r * n + unit];
        for (offset k = 0; k < chains; k++) sum += h[k * n + unit];
    }
    *parameter = decay[r] * *parameter + drift - rate[r] / real(chains) * sum;
}
