// Kinds of functions that are the pieces of a normsys factor.
#pragma once

namespace ns {

enum class Piece { POLYNOMIAL, EXPONENTIAL, LINEAR };

}  // namespace ns
