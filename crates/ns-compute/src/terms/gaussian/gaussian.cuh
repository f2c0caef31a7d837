// A Gaussian constraint term, (theta - aux)^2 / (2 sigma^2), without its normalisation (see mod.rs). The argument
// `weight` of the functions is 1 / sigma.
#pragma once
#include "block.cuh"

namespace ns {

// Returns the constraint term and its derivative with respect to theta.
NS_DEVICE Pair gaussian(double theta, double aux, double weight) {
    double pull = (theta - aux) * weight;
    return {0.5 * pull * pull, pull * weight};
}

// Returns `sum` plus the second derivative of the constraint term.
NS_DEVICE double gaussian_add_second(double weight, double sum) { return fma(weight, weight, sum); }

}  // namespace ns
