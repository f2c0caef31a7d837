// A factor that is an exponential function of the distance from 0: e^(rate |alpha|) (see exponential.rs).
#pragma once
#include "block.cuh"

namespace ns {

// Returns `e^x` with an error of one unit in the last place. `x` is limited to [-700, 700]. A multiple of ln 2 is
// subtracted. The exponential of the remainder, whose absolute value is at most ln(2)/2, is a Taylor polynomial.
NS_DEVICE double exponential(double x) {
    x = fmin(fmax(x, -700.0), 700.0);
    double shifted = fma(x, LOG2_E, ROUND_TO_INTEGER), k = shifted - ROUND_TO_INTEGER;
    double r = fma(k, -LN2_HIGH, x);
    r = fma(k, -LN2_LOW, r);
    const double terms[12] = NS_EXP_TERMS;
    double s = terms[0];
#pragma unroll
    for (int i = 1; i < 12; i++) s = fma(s, r, terms[i]);
    double value = fma(r * r, s, r) + 1.0;
    return from_bits(bits(value) + (bits(shifted) << 52));
}

// Returns the rate with which the factor at |alpha| = 1 is `factor`.
NS_DEVICE double exponential_rate(double factor) { return log(factor); }

}  // namespace ns
