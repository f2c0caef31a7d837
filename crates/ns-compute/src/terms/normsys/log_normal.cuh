// Combine's lnN: the logarithm of the factor is a polynomial for |alpha| < 1/2 and linear outside (see log_normal.rs).
#pragma once
#include "block.cuh"
#include "terms/normsys/coefficients.cuh"
#include "terms/normsys/piece.cuh"

namespace ns {

struct NormsysLogNormal {
    static constexpr bool KINK = false;
    static constexpr int SMOOTH = (int)NormsysCode::LNN;
    static NS_DEVICE Piece piece(double size) { return size < 0.5 ? Piece::LOG_POLYNOMIAL : Piece::EXPONENTIAL; }
    template <class T>
    static NS_DEVICE void coefficients(T lo, T hi, T (&c)[6]) {
        coefficients_of_log_normal(lo, hi, c);
    }
};

}  // namespace ns
