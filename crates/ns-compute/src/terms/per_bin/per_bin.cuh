// shapesys, staterror and shapefactor: factors on the bins of a sample, each a parameter of its own per bin (see mod.rs).
#pragma once
#include "plan.cuh"
#include "terms/scale/scale.cuh"

namespace ns {

// Product of the factors of a cell with several, without that at `leave_out`.
NS_DEVICE double several(const Plan& plan, int cell, int leave_out, const double* theta) {
    int block = plan.cell_block[cell], b = cell - plan.block[3 * block].z;
    int4 lists = plan.block[3 * block + 1];
    return factors(plan.binwise_first, b, lists.z, lists.w, leave_out, leave_out, theta, 1.0);
}

// Product of the factors of a cell; `only`: its one factor, or how many it has.
NS_DEVICE double per_bin(const Plan& plan, int cell, int only, const double* theta) {
    return only == NO_FACTOR ? 1.0 : only >= 0 ? theta[only] : several(plan, cell, -1, theta);
}

// The derivative of that by the factor of an entry in `binwise_cell`.
NS_DEVICE double per_bin_slope(const Plan& plan, int4 at, const double* theta) {
    return at.w >= 0 ? several(plan, at.x, at.w, theta) : 1.0;
}

}  // namespace ns
