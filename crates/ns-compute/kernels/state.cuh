// Working memory of one block.
#pragma once
#include "plan.cuh"

#ifdef __CUDACC__
extern __shared__ double ns_shared[];
#else
static thread_local double* ns_shared;
#endif

namespace ns {

// Arrays of a model that fits into shared memory (SHARED): the first ones there, the rest in the block's slab of device
// memory. Of a larger model all but BLOCK_DATA are in the slab. Which it is, is known when this is compiled: instructions for
// one kind of memory are faster than those for any.
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
