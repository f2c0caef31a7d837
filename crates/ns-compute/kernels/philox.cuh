// The random-number generator Philox4x32-10, and uniform numbers that are made from it. The bits are the same as in
// `random/philox.rs` and `random/uniform.rs` of ns-core. These files cite the papers.
#pragma once

#include "exact.cuh"

namespace ns {

// 128 random bits.
struct RandomBlock {
    uint32_t words[4];
};

// Key of the random numbers of one toy under one hypothesis.
struct Stream {
    uint64_t seed;
    uint64_t toy;
    uint32_t hypothesis;
};

// Returns the random bits for one attempt to draw the datum `slot` of a toy. A datum that is drawn by rejection may
// need several attempts, which are numbered from 0.
NS_DEVICE RandomBlock random_block(const Stream& stream, uint32_t slot, uint32_t attempt) {
    uint32_t c0 = (uint32_t)stream.toy;
    uint32_t c1 = (uint32_t)(stream.toy >> 32);
    uint32_t c2 = slot;
    uint32_t c3 = (stream.hypothesis * ATTEMPTS) | (attempt % ATTEMPTS);
    uint32_t k0 = (uint32_t)stream.seed;
    uint32_t k1 = (uint32_t)(stream.seed >> 32);
#pragma unroll
    for (int round = 0; round < (int)PHILOX_ROUNDS; ++round) {
        const uint32_t high_0 = high_half(PHILOX_MULTIPLIER_0, c0);
        const uint32_t low_0 = PHILOX_MULTIPLIER_0 * c0;
        const uint32_t high_2 = high_half(PHILOX_MULTIPLIER_2, c2);
        const uint32_t low_2 = PHILOX_MULTIPLIER_2 * c2;
        c0 = high_2 ^ c1 ^ k0;
        c1 = low_2;
        c2 = high_0 ^ c3 ^ k1;
        c3 = low_0;
        k0 += PHILOX_WEYL_0;
        k1 += PHILOX_WEYL_1;
    }
    return RandomBlock{{c0, c1, c2, c3}};
}

// Returns the upper 53 bits of a 64-bit integer, given its lower and upper half.
NS_DEVICE uint64_t bits53(uint32_t low, uint32_t high) { return (((uint64_t)high << 32) | low) >> 11; }

// Returns a uniform number in (0, 1): i / 2^53, or 2^-54 instead of 0.
NS_DEVICE Exact open_uniform(uint32_t low, uint32_t high) {
    const uint64_t i = bits53(low, high);
    return i == 0 ? Exact(0.5 * UNIFORM_STEP) : Exact((double)i) * UNIFORM_STEP;
}

// Returns a uniform number in (-1/2, 1/2): (i - 2^52 + 1/2) / 2^53, without rounding.
NS_DEVICE Exact centred_uniform(uint32_t low, uint32_t high) {
    const int64_t i = (int64_t)bits53(low, high) - ((int64_t)1 << 52);
    return (Exact((double)i) + 0.5) * UNIFORM_STEP;
}

}  // namespace ns
