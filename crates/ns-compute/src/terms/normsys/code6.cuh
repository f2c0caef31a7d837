// code6: the factor is a polynomial for |alpha| < 1 and linear outside (see code6.rs).
#pragma once
#include "block.cuh"
#include "terms/normsys/coefficients.cuh"
#include "terms/normsys/piece.cuh"

namespace ns {

struct NormsysCode6 {
    static constexpr bool KINK = false;
    static constexpr int SMOOTH = (int)NormsysCode::CODE6;
    static NS_DEVICE Piece piece(double size) { return size < 1.0 ? Piece::POLYNOMIAL : Piece::LINEAR; }
    template <class T>
    static NS_DEVICE void coefficients(T lo, T hi, T (&c)[6]) {
        coefficients_of_code6(lo, hi, c);
    }
};

}  // namespace ns
