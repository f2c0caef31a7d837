// The compiled model on the device, as kernels read it.
#pragma once
#include "block.cuh"
#include "structures.cuh"

namespace ns {

// The slice of a cell, and the cell's place in it. Templates are stored in slices of as many cells as a warp
// has threads.
NS_DEVICE int slice_of(int cell) { return (unsigned)cell / WARP; }
NS_DEVICE int place_in_slice(int cell) { return (unsigned)cell % WARP; }

// Interpolation codes of an evaluation, and whether the descent treats kinks.
struct Codes {
    int histosys, normsys;
    bool kinks;
};

NS_DEVICE Codes codes_of(const Plan& plan) { return Codes{plan.histosys, plan.normsys, plan.kinked != nullptr}; }

}  // namespace ns
