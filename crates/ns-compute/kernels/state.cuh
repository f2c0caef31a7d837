// Working memory of one block: arrays in shared memory as far as it goes, the rest in the block's slab.
#pragma once
#include "plan.cuh"

namespace ns {

struct State {
    const uint32_t* offset;
    double* shared;
    double* slab;

    NS_DEVICE double* operator[](Array array) const {
        uint32_t at = offset[array];
        return (at & IN_SLAB) ? slab + (at & ~IN_SLAB) : shared + at;
    }
};

}  // namespace ns
