// SPDX-License-Identifier: BSD-3-Clause
// The part of CUDA C++ that the kernels of this project need, as plain C++: thread blocks run one after the other.
//
// A fiber runs threads of a block one after the other until one of them waits at a
// barrier; then another fiber runs the rest. So kernels without barriers need no switches. Undefined behaviour of CUDA
// is an error here: a barrier that some threads of a block never reach, and a write to shared memory beyond the
// size of the launch. Shared memory starts as NaN, and threads can be run in reverse order, so that reads of memory that
// is not yet written are detected.

#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <tuple>
#include <ucontext.h>
#include <utility>
#include <vector>

struct dim3 {
    unsigned x = 1, y = 1, z = 1;
};

static dim3 threadIdx, blockIdx, blockDim, gridDim;

#define __global__
#define __device__
#define __shared__
#define __launch_bounds__(...)
static_assert(sizeof(unsigned) == 4, "words of 32 bits");

inline int __popcll(unsigned long long a) { return __builtin_popcountll(a); }
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((uint64_t)a * b) >> 32); }

const size_t SHARED_BYTES = 227 * 1024;  // the most that a block can ask for on a device of kind sm_90
double shared_memory[SHARED_BYTES / sizeof(double)];

namespace shim {

const size_t STACK_BYTES = 64 * 1024;

struct Fiber {
    ucontext_t context;
    std::unique_ptr<char[]> stack{new char[STACK_BYTES]};
};

static ucontext_t scheduler;
static std::vector<std::unique_ptr<Fiber>> fibers;  // kept from block to block
static std::vector<Fiber*> waiting;
static Fiber* current;
static unsigned next_thread, thread_count;
static bool run_reversed;
static std::function<void()> run_thread;

inline void set_thread(unsigned number) {
    const unsigned n = run_reversed ? thread_count - 1 - number : number;
    threadIdx = {n % blockDim.x, n / blockDim.x, 0};
}

// Run the threads that no fiber has begun, then return to the scheduler.
inline void serve() {
    while (true) {
        while (next_thread < thread_count) {
            set_thread(next_thread++);
            run_thread();
        }
        swapcontext(&current->context, &scheduler);
    }
}

inline Fiber* fiber(size_t number) {
    while (fibers.size() <= number) {
        fibers.push_back(std::make_unique<Fiber>());
        Fiber& made = *fibers.back();
        getcontext(&made.context);
        made.context.uc_stack.ss_sp = made.stack.get();
        made.context.uc_stack.ss_size = STACK_BYTES;
        makecontext(&made.context, serve, 0);
    }
    return fibers[number].get();
}

inline void resume(Fiber* chosen) {
    current = chosen;
    swapcontext(&scheduler, &chosen->context);
}

// Run all threads of a block; false if some wait at a barrier when others have ended.
inline bool run_block(size_t shared_bytes) {
    memset(shared_memory, 0xFF, shared_bytes);
    next_thread = 0;
    waiting.clear();
    for (size_t number = 0; next_thread < thread_count; number++) resume(fiber(number));
    while (!waiting.empty()) {
        if (waiting.size() != thread_count) return fibers.clear(), false;
        std::vector<Fiber*> turn;
        turn.swap(waiting);
        for (Fiber* each : turn) resume(each);
    }
    return true;
}

inline bool is_untouched_from(size_t start) {
    const unsigned char* bytes = (const unsigned char*)shared_memory;
    for (size_t i = start; i < SHARED_BYTES; i++)
        if (bytes[i] != 0xFF) return false;
    return true;
}

// A launch, except its kernel and arguments.
struct Launch {
    unsigned grid, block_x, block_y, shared_bytes;
    int reversed;
};

// Run a kernel; return an error message or null.
template <class... Arguments, size_t... I>
inline const char* run(void (*kernel)(Arguments...), const Launch& how, void** values, std::index_sequence<I...>) {
    auto arguments = std::make_tuple(*static_cast<Arguments*>(values[I])...);
    run_thread = [&] { std::apply(kernel, arguments); };
    gridDim = {how.grid, 1, 1}, blockDim = {how.block_x, how.block_y, 1};
    thread_count = how.block_x * how.block_y, run_reversed = how.reversed;
    memset(shared_memory, 0xFF, sizeof shared_memory);
    for (unsigned block = 0; block < how.grid; block++) {
        blockIdx = {block, 0, 0};
        if (!run_block(how.shared_bytes)) return "threads wait at a barrier that others never reach";
    }
    return is_untouched_from(how.shared_bytes) ? nullptr : "writes to more shared memory than the launch asks for";
}

template <class... Arguments>
inline const char* launch(void (*kernel)(Arguments...), const Launch& how, void** values) {
    return run(kernel, how, values, std::index_sequence_for<Arguments...>{});
}

}  // namespace shim

inline void __syncthreads() {
    const dim3 mine = threadIdx;
    shim::waiting.push_back(shim::current);
    swapcontext(&shim::current->context, &shim::scheduler);
    threadIdx = mine;
}

// A kernel for callers that do not know its types: `values` are the addresses of its arguments.
#define EXPORT(name)                                                                    \
    extern "C" const char* shim_##name(const shim::Launch* how, void** values) {        \
        return shim::launch(name, *how, values);                                        \
    }
