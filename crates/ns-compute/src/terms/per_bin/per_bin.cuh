// shapesys, staterror and shapefactor: factors on the bins of a sample, with a separate parameter for each
// bin (see mod.rs).
#pragma once
#include "plan.cuh"
#include "terms/scale/scale.cuh"

namespace ns {

// Returns the product of the factors of a cell that has several, without the factor at index `leave_out` (-1:
// with all).
NS_DEVICE double several(const Plan& plan, int cell, int leave_out, const double* theta) {
    int block = plan.cell_block[cell], b = cell - plan.block[3 * block].z;
    int4 lists = plan.block[3 * block + 1];
    return factors(plan.binwise_first, b, lists.z, lists.w, leave_out, leave_out, theta, 1.0);
}

// Returns the product of the factors of a cell. `only` is the parameter of its only factor, NO_FACTOR or
// SEVERAL_FACTORS.
NS_DEVICE double per_bin(const Plan& plan, int cell, int only, const double* theta) {
    return only == NO_FACTOR ? 1.0 : only >= 0 ? theta[only] : several(plan, cell, -1, theta);
}

// Returns the derivative of that product by the factor of an entry `at` of `binwise_cell`.
NS_DEVICE double per_bin_slope(const Plan& plan, int4 at, const double* theta) {
    return at.w >= 0 ? several(plan, at.x, at.w, theta) : 1.0;
}

}  // namespace ns
