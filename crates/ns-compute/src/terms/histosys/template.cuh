// The coefficients `S` and `A` of a histosys template (see template.rs).
#pragma once
#include "block.cuh"

namespace ns {

// Returns `S` and `A` of a template in one bin. `lo`, `nominal` and `hi` are the yields at alpha = -1, 0 and 1.
NS_DEVICE Pair template_parts(double lo, double nominal, double hi) {
    return {0.5 * (hi - lo), 0.5 * ((hi - nominal) + (lo - nominal))};
}

// Returns the derivatives of `alpha S + f A` with respect to the yields `lo` and `hi`.
NS_DEVICE Pair by_template(double alpha, double f) { return {0.5 * (f - alpha), 0.5 * (f + alpha)}; }

}  // namespace ns
