// Values f, f' and f'' of a histosys code at one value of its parameter.
#pragma once
#include "block.cuh"

namespace ns {

struct Curved {
    double f, first, second;
};

}  // namespace ns
