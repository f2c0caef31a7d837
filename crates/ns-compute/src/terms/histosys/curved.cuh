// Value and derivatives f, f' and f'' of a histosys interpolation function at one value of the parameter.
#pragma once
#include "block.cuh"

namespace ns {

struct Curved {
    double f, first, second;
};

}  // namespace ns
