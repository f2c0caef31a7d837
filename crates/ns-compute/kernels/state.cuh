// Working arrays of one thread block.
#pragma once
#include "plan.cuh"

#ifdef __CUDACC__
extern __shared__ double ns_shared[];
#else
static thread_local double* ns_shared;
#endif

namespace ns {

// Gives access to the working arrays of a thread block. If SHARED is true, the arrays before FIRST_GLOBAL are in
// shared memory, and all others are in the block's slab (its part of device memory). Otherwise all arrays except
// BLOCK_DATA are in the slab. SHARED is a template parameter, because instructions for one kind of memory are faster
// than generic ones.
template <bool SHARED>
struct State {
    const uint32_t* offset;
    double* slab;

    NS_DEVICE double* operator[](Array array) const {
        bool shared = array == BLOCK_DATA || (SHARED && array < FIRST_GLOBAL);
        return (shared ? ns_shared : slab) + offset[array];
    }
};

}  // namespace ns
