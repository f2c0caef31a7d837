// Kinds of functions of which normsys factors consist.
#pragma once

namespace ns {

enum class Piece { POLYNOMIAL, LOG_POLYNOMIAL, EXPONENTIAL, LINEAR };

}  // namespace ns
