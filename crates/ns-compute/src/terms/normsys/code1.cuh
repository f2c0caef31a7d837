// code1: the factor is an exponential on either side of 0, with a kink at 0 (see code1.rs).
#pragma once
#include "block.cuh"
#include "terms/normsys/coefficients.cuh"
#include "terms/normsys/piece.cuh"

namespace ns {

struct NormsysCode1 {
    static constexpr bool KINK = true;
    static constexpr int SMOOTH = (int)NormsysCode::CODE4;
    static NS_DEVICE Piece piece(double) { return Piece::EXPONENTIAL; }
    template <class T>
    static NS_DEVICE void coefficients(T lo, T hi, T (&c)[6]) {
        coefficients_of_code4(lo, hi, c);
    }
};

}  // namespace ns
