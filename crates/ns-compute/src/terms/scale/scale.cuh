// Scale factors (normfactor and lumi): factors on a sample, each of which is a parameter (see mod.rs).
#pragma once
#include "block.cuh"

namespace ns {

// Returns `product` times the values of the parameters with the indices `params[k] + b`. `k` goes from `from` to `to
// - 1`, except `i` and `j`.
NS_DEVICE double factors(
    const int* params, int b, int from, int to, int i, int j, const double* theta, double product
) {
#pragma unroll 1
    for (int k = from; k < to; k++) {
        if (k != i && k != j) product *= theta[params[k] + b];
    }
    return product;
}

}  // namespace ns
