// A factor that is a polynomial of degree six with the value 1 at 0 (see polynomial.rs). `high` contains the
// coefficients of degree 6 and 5, `middle` those of degree 4 and 3, and `low` those of degree 2 and 1.
#pragma once
#include "block.cuh"

namespace ns {

// Computes the value and the slope of the polynomial with one Horner scheme.
NS_DEVICE void polynomial(Pair high, Pair middle, Pair low, double alpha, double& value, double& slope) {
    double sum = fma(high.a, alpha, high.b), first = fma(high.a, alpha, sum);
    sum = fma(sum, alpha, middle.a), first = fma(first, alpha, sum);
    sum = fma(sum, alpha, middle.b), first = fma(first, alpha, sum);
    sum = fma(sum, alpha, low.a), first = fma(first, alpha, sum);
    sum = fma(sum, alpha, low.b), first = fma(first, alpha, sum);
    value = fma(sum, alpha, 1.0);
    slope = first;
}

// Returns the second derivative of the polynomial.
NS_DEVICE double polynomial_second(Pair high, Pair middle, Pair low, double alpha) {
    double second = fma(30.0 * high.a, alpha, 20.0 * high.b);
    second = fma(second, alpha, 12.0 * middle.a);
    second = fma(second, alpha, 6.0 * middle.b);
    return fma(second, alpha, 2.0 * low.a);
}

}  // namespace ns
