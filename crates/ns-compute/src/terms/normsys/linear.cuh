// A factor that grows linearly: 1 + rate |alpha| (see linear.rs).
#pragma once
#include "block.cuh"

namespace ns {

NS_DEVICE double linear(double size, double rate) { return fma(size, rate, 1.0); }

// Returns the rate for which the factor at distance 1 is `factor`.
NS_DEVICE double linear_rate(double factor) { return factor - 1.0; }

}  // namespace ns
