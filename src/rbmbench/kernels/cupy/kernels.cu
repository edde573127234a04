// SPDX-License-Identifier: BSD-3-Clause
// The kernels for CUDA devices. rbmbench/kernels/numpy documents the result of each kernel and its random
// numbers; the Python files in this folder launch them.
//
// The source is compiled once per array type: REAL is float or double. It includes no system header, so NVRTC compiles
// it as it is. Arrays are C-contiguous. The dynamic array below is the only shared memory: tests compile this file as
// C++ and run it on a CPU, where the threads of a block share nothing else.

typedef REAL real;
typedef unsigned int word;
typedef unsigned long long wide;
typedef long long offset;

extern __shared__ double shared_memory[];

#include "philox.cuh"
#include "rows.cuh"
#include "bernoulli.cuh"
#include "coupling.cuh"
#include "enumeration.cuh"
#include "tempering.cuh"
#include "samples.cuh"
#include "products.cuh"
#include "fused_chains.cuh"
#include "fused.cuh"
