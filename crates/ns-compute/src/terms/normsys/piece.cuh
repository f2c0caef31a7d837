// Kinds of functions of which normsys factors consist.
#pragma once

namespace ns {

enum class Piece { POLYNOMIAL, EXPONENTIAL, LINEAR };

}  // namespace ns
