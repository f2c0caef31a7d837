// A factor that grows linearly: 1 + rate |alpha| (see linear.rs).
#pragma once
#include "block.cuh"

namespace ns {

NS_DEVICE double linear(double size, double rate) { return fma(size, rate, 1.0); }

}  // namespace ns
