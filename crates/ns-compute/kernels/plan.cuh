// The compiled model on the device, in the form that kernels read.
#pragma once
#include "block.cuh"
#include "structures.cuh"

namespace ns {

// Index of a cell's slice, and position of the cell in the slice. A slice is a group of WARP neighbouring
// cells whose histosys templates are stored together.
NS_DEVICE int slice_of(int cell) { return (unsigned)cell / WARP; }
NS_DEVICE int place_in_slice(int cell) { return (unsigned)cell % WARP; }

// Interpolation codes of an evaluation, and whether the model with these codes has kinks.
struct Codes {
    int histosys, normsys;
    bool kinks;
};

NS_DEVICE Codes codes_of(const Plan& plan) { return Codes{plan.histosys, plan.normsys, plan.kinked != nullptr}; }

}  // namespace ns
