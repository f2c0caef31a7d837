// The pieces that factors are made of.
#pragma once

namespace ns {

enum class Piece { POLYNOMIAL, EXPONENTIAL, LINEAR };

}  // namespace ns
