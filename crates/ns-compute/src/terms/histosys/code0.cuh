// code0: piecewise linear (see code0.rs).
#pragma once
#include "block.cuh"
#include "terms/histosys/curved.cuh"

namespace ns {

struct HistosysCode0 {
    static constexpr bool KINK = true;
    static constexpr int SMOOTH = (int)HistosysCode::CODE4P;
    static NS_DEVICE Curved curved(double alpha) {
        return {fabs(alpha), alpha < 0.0 ? -1.0 : alpha > 0.0 ? 1.0 : 0.0, 0.0};
    }
};

}  // namespace ns
