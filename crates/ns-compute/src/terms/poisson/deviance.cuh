// The Poisson term relative to its value in the saturated model, in which `lambda = n` (see deviance.rs).
#pragma once
#include "block.cuh"

namespace ns {

// Returns `lambda - n ln(lambda) - (n - n ln n)`, computed without cancellation.
NS_DEVICE double deviance(double lambda, double n) {
    double z = (lambda - n) / n, x = lambda / n;
    uint64_t shifted = bits(x) + (ONE_BITS - HALF_ROOT_BITS);
    double k = (double)((int)(shifted >> 52) - EXPONENT_BIAS);
    double m = from_bits((shifted & FRACTION_BITS) + HALF_ROOT_BITS);
    double f = k == 0.0 ? z : m - 1.0;
    double s = f / (2.0 + f), s2 = s * s;
    const double terms[7] = NS_DEVIANCE_TERMS;
    double r = terms[6];
#pragma unroll
    for (int i = 5; i >= 0; i--) r = fma(r, s2, terms[i]);
    double half = 0.5 * f * f;
    double tail = s * fma(r, s2, half);
    double in_shared = half - tail;
    double in_global = z - fma(k, LN2_HIGH, f - (in_shared - k * LN2_LOW));
    return n * (k == 0.0 ? in_shared : in_global);
}

// Returns the Poisson term relative to its value in the saturated model. The term is infinite if `n` is
// positive and `lambda` is not.
NS_DEVICE double poisson_term(double lambda, double n) {
    if (!(n > 0.0)) return lambda;
    return lambda > 0.0 ? deviance(lambda, n) : infinity();
}

// Returns the derivative of the Poisson term with respect to `lambda`.
NS_DEVICE double poisson_slope(double lambda, double n) { return n > 0.0 ? (lambda - n) / lambda : 1.0; }

}  // namespace ns
