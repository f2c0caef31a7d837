// A factor that is a linear function of the distance from 0: 1 + rate |alpha| (see linear.rs).
#pragma once
#include "block.cuh"

namespace ns {

NS_DEVICE double linear(double size, double rate) { return fma(size, rate, 1.0); }

// Returns the rate with which the factor at |alpha| = 1 is `factor`.
NS_DEVICE double linear_rate(double factor) { return factor - 1.0; }

}  // namespace ns
