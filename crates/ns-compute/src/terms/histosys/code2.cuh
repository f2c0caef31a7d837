// code2: quadratic inside |alpha| <= 1, linear outside (see code2.rs).
#pragma once
#include "block.cuh"
#include "terms/histosys/curved.cuh"

namespace ns {

struct HistosysCode2 {
    static constexpr bool KINK = false;
    static constexpr int SMOOTH = (int)HistosysCode::CODE4P;
    static NS_DEVICE Curved curved(double alpha) {
        double size = fabs(alpha);
        if (size <= 1.0) return {alpha * alpha, 2.0 * alpha, 2.0};
        return {fma(2.0, size, -1.0), alpha < 0.0 ? -2.0 : 2.0, 0.0};
    }
};

}  // namespace ns
