// code4p: a polynomial of degree six inside |alpha| <= 1, linear outside (see code4p.rs).
#pragma once
#include "block.cuh"
#include "terms/histosys/curved.cuh"

namespace ns {

struct HistosysCode4P {
    static constexpr bool KINK = false;
    static constexpr int SMOOTH = (int)HistosysCode::CODE4P;
    static NS_DEVICE Curved curved(double alpha) {
        double size = fabs(alpha), s = alpha * alpha;
        if (!(size <= 1.0)) return {size, alpha < 0.0 ? -1.0 : 1.0, 0.0};
        return {
            s * fma(s, fma(s, 0.375, -1.25), 1.875),
            alpha * fma(s, fma(s, 2.25, -5.0), 3.75),
            fma(s, fma(s, 11.25, -15.0), 3.75),
        };
    }
};

}  // namespace ns
