// code1: exponentials to both sides (see code1.rs).
#pragma once
#include "block.cuh"
#include "terms/normsys/piece.cuh"

namespace ns {

struct NormsysCode1 {
    static constexpr bool KINK = true;
    static constexpr int SMOOTH = (int)NormsysCode::CODE4;
    static NS_DEVICE Piece piece(double) { return Piece::EXPONENTIAL; }
};

}  // namespace ns
