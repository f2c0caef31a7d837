// Operations of a thread block when the kernels are compiled for the CPU. A block has one thread. With
// NS_MANY_THREADS it has as many threads as on a GPU (many.hpp).
#pragma once
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>

#define NS_DEVICE inline
#define NS_CALL static
#define __restrict__ __restrict

struct int2 {
    int x, y;
};
struct alignas(16) int4 {
    int x, y, z, w;
};

#ifdef NS_MANY_THREADS
#include "many.hpp"
#else
namespace ns {
NS_DEVICE int thread() { return 0; }
NS_DEVICE int threads() { return 1; }
NS_DEVICE void barrier() {}
NS_DEVICE int lane() { return 0; }
NS_DEVICE int lanes() { return 1; }
NS_DEVICE int warp() { return 0; }
NS_DEVICE int warps() { return 1; }
NS_DEVICE int member() { return 0; }
NS_DEVICE int members() { return 1; }
NS_DEVICE int team() { return 0; }
NS_DEVICE int teams() { return 1; }
NS_DEVICE double team_sum(double x) { return x; }
NS_DEVICE double team_product(double x) { return x; }
NS_DEVICE void team_barrier() {}
NS_DEVICE double warp_sum(double x) { return x; }
NS_DEVICE double warp_min(double x) { return x; }
NS_DEVICE int warp_max(int x) { return x; }
NS_DEVICE void pause() { sched_yield(); }
}  // namespace ns
#endif

namespace ns {
NS_DEVICE void trap() { __builtin_trap(); }
NS_DEVICE double infinity() { return HUGE_VAL; }
NS_DEVICE double not_a_number() { return NAN; }
NS_DEVICE uint64_t bits(double x) {
    uint64_t u;
    memcpy(&u, &x, 8);
    return u;
}
NS_DEVICE double from_bits(uint64_t u) {
    double x;
    memcpy(&x, &u, 8);
    return x;
}
NS_DEVICE double reciprocal(double x) { return 1.0 / x; }
// `lgamma` would write the sign to a variable that all threads share.
NS_DEVICE double log_gamma(double x) {
    int sign;
    return lgamma_r(x, &sign);
}
NS_DEVICE int add(int* to, int x) { return __atomic_fetch_add(to, x, __ATOMIC_SEQ_CST); }
NS_DEVICE int peek(const int* from) { return __atomic_load_n(from, __ATOMIC_SEQ_CST); }
NS_DEVICE uint64_t peek(const uint64_t* from) { return __atomic_load_n(from, __ATOMIC_SEQ_CST); }
NS_DEVICE double peek(const double* from) { return from_bits(peek((const uint64_t*)from)); }
NS_DEVICE uint64_t replace(uint64_t* at, uint64_t old, uint64_t by) {
    __atomic_compare_exchange_n(at, &old, by, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return old;
}
NS_DEVICE bool lock(int* at) { return __atomic_exchange_n(at, 1, __ATOMIC_SEQ_CST) == 0; }
NS_DEVICE void unlock(int* at) { __atomic_store_n(at, 0, __ATOMIC_SEQ_CST); }
// On the CPU, the atomic operations above order all reads and writes, so a fence does nothing.
NS_DEVICE void fence() {}
}  // namespace ns
