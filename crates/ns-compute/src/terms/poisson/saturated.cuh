// The value of a Poisson term whose expected yield equals the count, for any real count (see saturated.rs).
#pragma once
#include "block.cuh"

namespace ns {

// Returns `n - n ln n + ln Gamma(n + 1)`, the Poisson term of the saturated model. The function is not inlined, because
// the code of the gamma function is long.
NS_CALL double saturated_term(double n) {
    if (!(n > 0.0)) return 0.0;
    if (n < 30.0) return n - n * log(n) + log_gamma(n + 1.0);
    double i = 1.0 / n, i2 = i * i;
    double series =
        i * (1.0 / 12.0 - i2 * (1.0 / 360.0 - i2 * (1.0 / 1260.0 - i2 * (1.0 / 1680.0 - i2 / 1188.0))));
    return 0.5 * log(TWO_PI * n) + series;
}

// Returns the derivative of `ln Gamma(n + 1)`, which is the digamma function at `n + 1`.
NS_CALL double log_factorial_slope(double n) {
    double x = n + 1.0, below = 0.0;
    while (x < 12.0) {
        below += 1.0 / x;
        x += 1.0;
    }
    double i = 1.0 / (x * x);
    double last = 1.0 / 240.0 - i * (1.0 / 132.0 - i * 691.0 / 32760.0);
    double series = i * (1.0 / 12.0 - i * (1.0 / 120.0 - i * (1.0 / 252.0 - i * last)));
    return log(x) - 0.5 / x - series - below;
}

// Returns the derivative of a Poisson term with respect to its count. If `lambda` is not positive, the derivative does
// not exist. It is set to 0, so that an empty bin does not contribute.
NS_DEVICE double poisson_by_count(double lambda, double n) {
    return lambda > 0.0 ? log_factorial_slope(n) - log(lambda) : 0.0;
}

}  // namespace ns
