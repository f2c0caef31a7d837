// Operations of a thread block: indices, barriers, and sums in a fixed order.
//
// All other kernel code uses only these functions for such operations. The same sources thus also compile for the CPU
// (cpu.hpp), and tests run the kernels on machines without a GPU.
#pragma once
#include <stdint.h>

#include "constants.cuh"

#ifdef __CUDACC__
#define NS_MANY_THREADS
#define NS_DEVICE __device__ __forceinline__
#define NS_CALL __device__ __noinline__

namespace ns {
NS_DEVICE int thread() { return threadIdx.x; }
NS_DEVICE int threads() { return blockDim.x; }
NS_DEVICE void barrier() { __syncthreads(); }
NS_DEVICE void trap() { __trap(); }
NS_DEVICE double infinity() { return __longlong_as_double(0x7ff0000000000000ll); }
NS_DEVICE double not_a_number() { return __longlong_as_double(0x7ff8000000000000ll); }
NS_DEVICE uint64_t bits(double x) { return (uint64_t)__double_as_longlong(x); }
NS_DEVICE double from_bits(uint64_t x) { return __longlong_as_double((long long)x); }
NS_DEVICE double log_gamma(double x) { return lgamma(x); }

NS_DEVICE int lane() { return threadIdx.x % WARP; }
NS_DEVICE int lanes() { return WARP; }
NS_DEVICE int warp() { return threadIdx.x / WARP; }
NS_DEVICE int warps() { return blockDim.x / WARP; }

// A team is TEAM neighbouring threads that work together on one row of a table.
NS_DEVICE int member() { return threadIdx.x % TEAM; }
NS_DEVICE int members() { return TEAM; }
NS_DEVICE int team() { return threadIdx.x / TEAM; }
NS_DEVICE int teams() { return blockDim.x / TEAM; }
NS_DEVICE unsigned team_mask() { return 0xffu << (threadIdx.x & 24); }

// Sum and product over a team. All threads of the team get the same bits.
NS_DEVICE double team_sum(double x) {
    for (int d = 4; d > 0; d >>= 1) x += __shfl_xor_sync(team_mask(), x, d);
    return x;
}
NS_DEVICE double team_product(double x) {
    for (int d = 4; d > 0; d >>= 1) x *= __shfl_xor_sync(team_mask(), x, d);
    return x;
}
// Barrier of a team. After it, each thread of the team sees what the other threads of the team wrote before it.
NS_DEVICE void team_barrier() { __syncwarp(team_mask()); }
NS_DEVICE double warp_sum(double x) {
    for (int d = 16; d > 0; d >>= 1) x += __shfl_xor_sync(0xffffffffu, x, d);
    return x;
}
NS_DEVICE double warp_min(double x) {
    for (int d = 16; d > 0; d >>= 1) x = fmin(x, __shfl_xor_sync(0xffffffffu, x, d));
    return x;
}
NS_DEVICE int warp_max(int x) {
    for (int d = 16; d > 0; d >>= 1) x = max(x, __shfl_xor_sync(0xffffffffu, x, d));
    return x;
}

// Communication between thread blocks. Thread A writes data, calls `fence`, and then writes a flag. Thread B reads
// the flag and then calls `fence`. B then sees the data. After a barrier, all threads of B's block see the data.
NS_DEVICE void fence() { __threadfence(); }
NS_DEVICE int add(int* to, int x) { return atomicAdd(to, x); }
NS_DEVICE int peek(const int* from) { return *(const volatile int*)from; }
NS_DEVICE uint64_t peek(const uint64_t* from) { return *(const volatile uint64_t*)from; }
NS_DEVICE double peek(const double* from) { return *(const volatile double*)from; }
NS_DEVICE uint64_t replace(uint64_t* at, uint64_t old, uint64_t by) {
    return atomicCAS((unsigned long long*)at, (unsigned long long)old, (unsigned long long)by);
}
NS_DEVICE bool lock(int* at) { return atomicCAS(at, 0, 1) == 0; }
NS_DEVICE void unlock(int* at) { atomicExch(at, 0); }
NS_DEVICE void pause() { __nanosleep(2000); }

// Returns `1 / x` with an error of one unit in the last place. `x` must be a normal floating-point number, because
// there is no code for subnormal numbers, infinity and NaN.
NS_DEVICE double reciprocal(double x) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    double e = fma(-x, y, 1.0);
    y = fma(y, fma(e, e, e), y);
    e = fma(-x, y, 1.0);
    return fma(y, e, y);
}
}  // namespace ns

#else
#include "cpu.hpp"
#endif

namespace ns {

// Two numbers that one instruction reads together.
struct alignas(16) Pair {
    double a, b;
};

// In a thread block with at least this number of warps, warps share work for which smaller blocks use teams or single
// threads.
constexpr int MANY_WARPS = 16;

// A group of neighbouring threads that together compute one row of a table. With WIDE it is a warp, otherwise a team.
// `number` is the index of the group among all `count` groups of the thread block. `index` is the index of a thread
// in its group.
template <bool WIDE>
struct Group {
    NS_DEVICE static int number() { return WIDE ? warp() : team(); }
    NS_DEVICE static int count() { return WIDE ? warps() : teams(); }
    NS_DEVICE static int index() { return WIDE ? lane() : member(); }
    NS_DEVICE static int size() { return WIDE ? lanes() : members(); }
    NS_DEVICE static double sum(double x) { return WIDE ? warp_sum(x) : team_sum(x); }
};

// Sums over the thread block. Every sum has one barrier, between writing and reading the partial sums of the warps.
// Successive sums use two areas alternately. An area is written again only after the barrier of the sum in between.
// At that barrier, all threads have read the area.
//
// WARPS is the largest number of warps of the block.
template <int WARPS>
struct SumsOf {
    double* room;
    int turn;

    template <int N>
    NS_DEVICE void all(double (&x)[N]);
    NS_DEVICE double one(double x) {
        double all_of[1] = {x};
        all(all_of);
        return all_of[0];
    }
    NS_DEVICE double least(double x);
};

// Sums over the thread blocks that fit or evaluate.
using Sums = SumsOf<MOST_WARPS>;

#ifdef NS_MANY_THREADS
// Returns the sum of `x` over all threads of the block. `here` is the area for the partial sums. The function is not
// inlined, because there are many sums, and code that does not fit into the instruction cache is slow.
NS_CALL double sum_of_warps(double x, double* here) {
    x = warp_sum(x);
    if (lane() == 0) here[warp() * MOST_SUMS] = x;
    barrier();
    double sum = here[0];
#pragma unroll 1
    for (int w = 1; w < warps(); w++) sum += here[w * MOST_SUMS];
    return sum;
}
#endif

template <int WARPS>
template <int N>
NS_DEVICE void SumsOf<WARPS>::all(double (&x)[N]) {
#ifdef NS_MANY_THREADS
    double* here = room + turn * (WARPS * MOST_SUMS);
    turn ^= 1;
    if constexpr (N == 1) {
        x[0] = sum_of_warps(x[0], here);
    } else {
        for (int i = 0; i < N; i++) x[i] = warp_sum(x[i]);
        if (lane() == 0) {
            for (int i = 0; i < N; i++) here[warp() * MOST_SUMS + i] = x[i];
        }
        barrier();
        if constexpr (WARPS >= MANY_WARPS) {
            // Every warp adds the partial sums in the same order.
            for (int i = 0; i < N; i++) x[i] = warp_sum(lane() < warps() ? here[lane() * MOST_SUMS + i] : 0.0);
        } else {
            for (int i = 0; i < N; i++) x[i] = here[i];
#pragma unroll 1
            for (int w = 1; w < warps(); w++) {
                for (int i = 0; i < N; i++) x[i] += here[w * MOST_SUMS + i];
            }
        }
    }
#endif
}

template <int WARPS>
NS_DEVICE double SumsOf<WARPS>::least(double x) {
#ifdef NS_MANY_THREADS
    x = warp_min(x);
    double* here = room + turn * (WARPS * MOST_SUMS);
    turn ^= 1;
    if (lane() == 0) here[warp() * MOST_SUMS] = x;
    barrier();
    if constexpr (WARPS >= MANY_WARPS) {
        x = warp_min(lane() < warps() ? here[lane() * MOST_SUMS] : infinity());
    } else {
        x = here[0];
#pragma unroll 1
        for (int w = 1; w < warps(); w++) x = fmin(x, here[w * MOST_SUMS]);
    }
#endif
    return x;
}

// A loop over `n` elements. A thread takes the elements `thread`, `thread + threads`, and so on.
#ifdef __CUDACC__
#define NS_ONE_BY_ONE _Pragma("unroll 1")
#else
#define NS_ONE_BY_ONE
#endif
#define NS_EACH(i, n) NS_ONE_BY_ONE for (int i = ns::thread(); i < (n); i += ns::threads())
// A loop over `n` elements. A team takes the elements `team`, `team + teams`, and so on.
#define NS_EACH_TEAM(i, n) NS_ONE_BY_ONE for (int i = ns::team(); i < (n); i += ns::teams())

}  // namespace ns
