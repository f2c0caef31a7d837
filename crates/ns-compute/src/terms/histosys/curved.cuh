// What a code of histosys is at one value of its parameter.
#pragma once
#include "block.cuh"

namespace ns {

struct Curved {
    double f, first, second;
};

}  // namespace ns
