// Gaussian density with its derivatives with respect to mean and width: the CUDA version of gaussian.rs.
#pragma once

namespace ns {

// Writes `exp(-t^2/2)` with `t = (x - mean) / sigma`, and its first and second derivatives, to `to[0]` to `to[5]`.
template <class To>
NS_DEVICE void gaussian_leaf(double mean, double sigma, double x, To to) {
    double inverse = 1.0 / sigma, t = (x - mean) * inverse, square = t * t;
    double value = exp(-0.5 * square), once = value * inverse, twice = once * inverse;
    to(0) = value;
    to(1) = once * t;
    to(2) = once * square;
    to(3) = twice * (square - 1.0);
    to(4) = twice * t * (square - 2.0);
    to(5) = twice * square * (square - 3.0);
}

}  // namespace ns
