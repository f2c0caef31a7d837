// Interpolation codes: f and f' of histosys, factor and relative derivative of normsys.
#pragma once
#include "plan.cuh"

namespace ns {

// `f` and `f'` of a histosys code at `alpha` (see src/interp); at a kink the mean slope.
NS_DEVICE void histosys(int code, double alpha, double& f, double& first) {
    double size = fabs(alpha);
    double sign = alpha < 0.0 ? -1.0 : alpha > 0.0 ? 1.0 : 0.0;
    if (code == CODE0) {
        f = size;
        first = sign;
    } else if (code == CODE2) {
        f = size <= 1.0 ? alpha * alpha : fma(2.0, size, -1.0);
        first = size <= 1.0 ? 2.0 * alpha : 2.0 * sign;
    } else if (size <= 1.0) {
        double s = alpha * alpha;
        f = s * fma(s, fma(s, 0.375, -1.25), 1.875);
        first = alpha * fma(s, fma(s, 2.25, -5.0), 3.75);
    } else {
        f = size;
        first = sign;
    }
}

// `e^x` for |x| < 700, to a unit in the last place: the Taylor polynomial on half of ln 2 to either side.
NS_DEVICE double exponential(double x) {
    x = fmin(fmax(x, -700.0), 700.0);
    double shifted = fma(x, LOG2_E, ROUND_TO_INTEGER), k = shifted - ROUND_TO_INTEGER;
    double r = fma(k, -LN2_HIGH, x);
    r = fma(k, -LN2_LOW, r);
    const double terms[12] = NS_EXP_TERMS;
    double s = terms[0];
    s = fma(s, r, terms[1]);
    s = fma(s, r, terms[2]);
    s = fma(s, r, terms[3]);
    s = fma(s, r, terms[4]);
    s = fma(s, r, terms[5]);
    s = fma(s, r, terms[6]);
    s = fma(s, r, terms[7]);
    s = fma(s, r, terms[8]);
    s = fma(s, r, terms[9]);
    s = fma(s, r, terms[10]);
    s = fma(s, r, terms[11]);
    double value = fma(r * r, s, r) + 1.0;
    return from_bits(bits(value) + (bits(shifted) << 52));
}

// Factor and relative derivative of normsys term `i` at `alpha`. Coefficients are given: they are read while alpha is still on its
// way.
NS_DEVICE void normsys(
    const Plan& plan, int code, int i, Pair high, Pair middle, Pair low, double alpha, double& factor, double& ratio
) {
    double size = fabs(alpha);
    if (code == CODE4 && size < 1.0) {
        // Horner's rule for the polynomial and, with the same intermediate values, its derivative.
        double value = fma(high.a, alpha, high.b), first = fma(high.a, alpha, value);
        value = fma(value, alpha, middle.a), first = fma(first, alpha, value);
        value = fma(value, alpha, middle.b), first = fma(first, alpha, value);
        value = fma(value, alpha, low.a), first = fma(first, alpha, value);
        value = fma(value, alpha, low.b), first = fma(first, alpha, value);
        factor = fma(value, alpha, 1.0);
        ratio = first * reciprocal(factor);
        return;
    }
    Pair log = plan.norm_log[i];
    factor = exponential(size * (alpha < 0.0 ? log.b : log.a));
    ratio = alpha < 0.0 ? -log.b : alpha > 0.0 ? log.a : 0.5 * (log.a - log.b);
}

}  // namespace ns
