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

// Factor and relative derivative of normsys term `i` at `alpha`.
NS_DEVICE void normsys(const Plan& plan, int i, double alpha, double& factor, double& ratio) {
    double size = fabs(alpha);
    if (plan.normsys == CODE4 && size < 1.0) {
        // Horner's rule for the polynomial and, with the same intermediate values, its derivative.
        const double* c = plan.norm_coefficient + i;
        int n = plan.n_terms;
        double value = c[5 * n], first = value;
        for (int k = 4; k >= 0; k--) {
            value = fma(value, alpha, c[k * n]);
            first = fma(first, alpha, value);
        }
        factor = fma(value, alpha, 1.0);
        ratio = first / factor;
        return;
    }
    double hi = plan.norm_log_hi[i], lo = plan.norm_log_lo[i];
    factor = exp(size * (alpha < 0.0 ? lo : hi));
    ratio = alpha < 0.0 ? -lo : alpha > 0.0 ? hi : 0.5 * (hi - lo);
}

}  // namespace ns
