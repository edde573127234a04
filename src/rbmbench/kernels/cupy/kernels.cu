// The kernels for CUDA devices. rbmbench/kernels/numpy says what each of them computes, and which random number
// goes where; the Python files beside this one launch them.
//
// The source is compiled once for every type of array: REAL is float or double. It needs no header, so that NVRTC
// compiles it as it is. Arrays are C-contiguous. All shared memory is the one dynamic array below: tests compile this
// very file as C++ and run it on a CPU, where threads of a block share nothing else.

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
#include "fused_chains.cuh"
#include "fused.cuh"
