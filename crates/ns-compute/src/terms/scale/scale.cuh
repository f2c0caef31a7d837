// normfactor and lumi: factors on a sample, each of them a parameter (see mod.rs).
#pragma once
#include "block.cuh"

namespace ns {

// `product` times the factors at the places `from` to `to` of a list, but for those at `i` and `j`. A factor is the parameter that
// comes `b` after the one in the list.
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
