// Exponential density with its derivatives with respect to the slope: the CUDA version of exponential.rs.
#pragma once

namespace ns {

// Writes the value, the first and the second derivative of `exp(-slope (x - origin))` to `to[0]` to `to[2]`. The
// origin is the end of the axis at which the density is largest.
template <class To>
NS_DEVICE void exponential_leaf(double slope, const double (&axis)[2], double x, To to) {
    double distance = x - (slope < 0.0 ? axis[1] : axis[0]);
    double value = exp(-slope * distance), moved = -distance * value;
    to(0) = value;
    to(1) = moved;
    to(2) = -distance * moved;
}

}  // namespace ns
