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
    // Adding this rounds to an integer, which is then in the last bits.
    const double round = 6755399441055744.0;
    x = fmin(fmax(x, -700.0), 700.0);
    double shifted = fma(x, 1.4426950408889634074, round), k = shifted - round;
    double r = fma(k, -6.93147180369123816490e-1, x);
    r = fma(k, -1.90821492927058770002e-10, r);
    double s = 1.6059043836821614599e-10;
    s = fma(s, r, 2.0876756987868098979e-9);
    s = fma(s, r, 2.5052108385441718775e-8);
    s = fma(s, r, 2.7557319223985890653e-7);
    s = fma(s, r, 2.7557319223985890653e-6);
    s = fma(s, r, 2.4801587301587301587e-5);
    s = fma(s, r, 1.9841269841269841270e-4);
    s = fma(s, r, 1.3888888888888888889e-3);
    s = fma(s, r, 8.3333333333333333333e-3);
    s = fma(s, r, 4.1666666666666666667e-2);
    s = fma(s, r, 1.6666666666666666667e-1);
    s = fma(s, r, 0.5);
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
