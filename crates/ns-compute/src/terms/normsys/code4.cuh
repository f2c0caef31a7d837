// code4: the factor is a polynomial for |alpha| < 1 and an exponential outside (see code4.rs).
#pragma once
#include "block.cuh"
#include "terms/normsys/coefficients.cuh"
#include "terms/normsys/piece.cuh"

namespace ns {

struct NormsysCode4 {
    static constexpr bool KINK = false;
    static constexpr int SMOOTH = (int)NormsysCode::CODE4;
    static NS_DEVICE Piece piece(double size) { return size < 1.0 ? Piece::POLYNOMIAL : Piece::EXPONENTIAL; }
    template <class T>
    static NS_DEVICE void coefficients(T lo, T hi, T (&c)[6]) {
        coefficients_of_code4(lo, hi, c);
    }
};

}  // namespace ns
