// Normal random numbers by inversion (Wichura's AS 241), with the same operations as `random/normal.rs` of
// ns-core.
#pragma once

#include "philox.cuh"

namespace ns {

// Returns the value of a polynomial of degree 7 at `r`. `c` contains the coefficients, beginning with the highest
// power. Terms are added in pairs, and then pairs of pairs (Estrin's scheme).
NS_DEVICE Exact polynomial(const double (&c)[8], Exact r) {
    const Exact r2 = r * r;
    const Exact r4 = r2 * r2;
    const Exact high = (c[0] * r + c[1]) * r2 + (c[2] * r + c[3]);
    const Exact low = (c[4] * r + c[5]) * r2 + (c[6] * r + c[7]);
    return high * r4 + low;
}

// Returns the quantile of the standard normal distribution for the probability 1/2 + `centred`.
NS_DEVICE Exact normal_quantile(Exact centred) {
    const Exact distance = magnitude(centred);
    if (distance <= CENTRAL) {
        const double numerator[8] = NS_NORMAL_CENTRE_NUMERATOR;
        const double denominator[8] = NS_NORMAL_CENTRE_DENOMINATOR;
        const Exact r = CENTRAL_SQUARED - centred * centred;
        return centred * (polynomial(numerator, r) / polynomial(denominator, r));
    }
    const Exact root = exact_root(-exact_ln(0.5 - distance));
    Exact magnitude = 0.0;
    if (root <= NEAR_TAIL) {
        const double numerator[8] = NS_NORMAL_NEAR_NUMERATOR;
        const double denominator[8] = NS_NORMAL_NEAR_DENOMINATOR;
        const Exact r = root - NEAR_TAIL_CENTRE;
        magnitude = polynomial(numerator, r) / polynomial(denominator, r);
    } else {
        const double numerator[8] = NS_NORMAL_FAR_NUMERATOR;
        const double denominator[8] = NS_NORMAL_FAR_DENOMINATOR;
        const Exact r = root - NEAR_TAIL;
        magnitude = polynomial(numerator, r) / polynomial(denominator, r);
    }
    return centred < 0.0 ? -magnitude : magnitude;
}

// Returns a normal random number for the datum `slot` of a toy. `stream` contains the key of the toy's random
// numbers.
NS_DEVICE double draw_normal(double mean, double sigma, const Stream& stream, uint32_t slot) {
    const RandomBlock block = random_block(stream, slot, 0);
    const Exact centred = centred_uniform(block.words[0], block.words[1]);
    return (Exact(mean) + Exact(sigma) * normal_quantile(centred)).value;
}

}  // namespace ns
