// Per-bin factors (shapesys, staterror and shapefactor): factors on the bins of a sample, with a separate parameter
// for each bin (see mod.rs).
#pragma once
#include "plan.cuh"
#include "terms/scale/scale.cuh"

namespace ns {

// Returns the product of the per-bin factors of a cell, except the factor with the index `leave_out` in
// `binwise_first`. If `leave_out` is -1, all factors are used. A cell is one bin of one sample in one channel.
NS_DEVICE double several(const Plan& plan, int cell, int leave_out, const double* theta) {
    int block = plan.cell_block[cell], b = cell - plan.block[3 * block].z;
    int4 lists = plan.block[3 * block + 1];
    return factors(plan.binwise_first, b, lists.z, lists.w, leave_out, leave_out, theta, 1.0);
}

// Returns the product of the per-bin factors of a cell. `only` is the parameter of the cell's only factor, or
// NO_FACTOR, or SEVERAL_FACTORS.
NS_DEVICE double per_bin(const Plan& plan, int cell, int only, const double* theta) {
    return only == NO_FACTOR ? 1.0 : only >= 0 ? theta[only] : several(plan, cell, -1, theta);
}

// Returns the derivative of the product of a cell's per-bin factors with respect to one of these factors. `at` is the
// entry of `binwise_cell` with the cell and the factor.
NS_DEVICE double per_bin_slope(const Plan& plan, int4 at, const double* theta) {
    return at.w >= 0 ? several(plan, at.x, at.w, theta) : 1.0;
}

}  // namespace ns
