// A Gaussian constraint, (theta - aux)^2 / (2 sigma^2), without its normalisation (see mod.rs). Its weight is 1 / sigma.
#pragma once
#include "block.cuh"

namespace ns {

// The term, and its slope.
NS_DEVICE Pair gaussian(double theta, double aux, double weight) {
    double pull = (theta - aux) * weight;
    return {0.5 * pull * pull, pull * weight};
}

// Adds the second derivative to `sum`.
NS_DEVICE double gaussian_add_second(double weight, double sum) { return fma(weight, weight, sum); }

}  // namespace ns
