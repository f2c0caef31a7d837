// code0: the factor is a line on either side of 0, with a kink at 0 (see code0.rs).
#pragma once
#include "block.cuh"
#include "terms/normsys/coefficients.cuh"
#include "terms/normsys/piece.cuh"

namespace ns {

struct NormsysCode0 {
    static constexpr bool KINK = true;
    static constexpr int SMOOTH = (int)NormsysCode::CODE6;
    static NS_DEVICE Piece piece(double) { return Piece::LINEAR; }
    template <class T>
    static NS_DEVICE void coefficients(T lo, T hi, T (&c)[6]) {
        coefficients_of_code6(lo, hi, c);
    }
};

}  // namespace ns
