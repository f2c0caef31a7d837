// Poisson random counts. They are the same as those of `random/poisson.rs`, `random/probability.rs` and
// `random/count_table.rs` of ns-core. These files describe the methods and cite the papers. ns-core also computes all
// constants that depend only on the mean.
#pragma once

#include "philox.cuh"
#include "structures.cuh"

namespace ns {

NS_TABLE double STIRLING_ERRORS[16] = NS_STIRLING_ERRORS;

// Returns k ln(k/mean) + mean - k for k > 0, where `difference` is k - mean.
NS_DEVICE Exact poisson_deviance(Exact k, Exact difference, Exact mean) {
    const Exact w = difference / (k + mean);
    if (magnitude(w) < NEAR_THE_MEAN) {
        const double terms[8] = NS_POISSON_DEVIANCE_TERMS;
        const Exact z = w * w;
        Exact series = 0.0;
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            series = (series + terms[i]) * z;
        }
        return difference * w + 2.0 * k * w * series;
    }
    return k * exact_ln(k / mean) - difference;
}

// Returns ln k! - [(k + 1/2) ln k - k + ln(2 pi)/2] for an integer k > 0.
NS_DEVICE Exact stirling_error(Exact k) {
    if (k < 16.0) {
        return Exact(STIRLING_ERRORS[(int)k.value]);
    }
    const double terms[5] = NS_STIRLING_TERMS;
    const Exact inverse = 1.0 / k;
    const Exact z = inverse * inverse;
    Exact series = 0.0;
#pragma unroll
    for (int i = 0; i < 5; ++i) {
        series = series * z + terms[i];
    }
    return series * inverse;
}

// Makes one attempt of transformed rejection (PTRS) with the uniform numbers `u` in (-1/2, 1/2) and `v` in
// (0, 1). Returns the count, or -1 if the attempt is rejected.
NS_DEVICE double poisson_attempt(const PoissonRejection& of, Exact u, Exact v) {
    const Exact a = of.a;
    const Exact b = of.b;
    const Exact mean = of.mean;
    const Exact edge = 0.5 - magnitude(u);
    const Exact offset = floor_of((2.0 * a / edge + b) * u + (of.part + Exact(CENTRE_OF_COUNTS)));
    const Exact count = of.whole + offset;
    if (edge >= SQUEEZE_FROM && v <= of.squeeze) {
        return count.value;
    }
    if (count < 0.0 || (edge < EDGE && v > edge)) {
        return -1.0;
    }
    const Exact slope = a / (edge * edge) + b;
    const Exact scaled = v * of.attempts / slope;
    if (count == 0.0) {
        return exact_ln(scaled) <= -mean ? 0.0 : -1.0;
    }
    const Exact exponent = -poisson_deviance(count, offset - of.part, mean) - stirling_error(count);
    const Exact two_pi = TWO_PI;
    return exact_ln(scaled * exact_root(two_pi * count)) <= exponent ? count.value : -1.0;
}

// Draws a count by transformed rejection. Attempts are made until one is accepted.
NS_DEVICE double draw_rejected(const PoissonRejection& of, const Stream& stream, uint32_t slot) {
    for (uint32_t attempt = 0;; ++attempt) {
        const RandomBlock block = random_block(stream, slot, attempt);
        const Exact u = centred_uniform(block.words[0], block.words[1]);
        const Exact v = open_uniform(block.words[2], block.words[3]);
        const double count = poisson_attempt(of, u, v);
        if (count >= 0.0) {
            return count;
        }
    }
}

// Table for Poisson counts with one mean. Threshold `i` is 2^63 times the probability of at most `first + i`
// counts, where `first` is the smallest count of the table. Element `k` of `guide` is the number of
// thresholds that are not above the smallest 63-bit integer whose upper eight bits are `k`.
struct CountTable {
    const uint64_t* thresholds;
    const uint16_t* guide;
    double first;
};

// Draws a count by inversion. The result is the smallest count of the table plus the number of thresholds that are
// not above a uniform random integer of 63 bits.
NS_DEVICE double draw_from_table(const CountTable& table, const Stream& stream, uint32_t slot) {
    const RandomBlock block = random_block(stream, slot, 0);
    const uint64_t u = (((uint64_t)block.words[1] << 32) | block.words[0]) >> 1;
    const uint32_t cell = (uint32_t)(u >> GUIDE_SHIFT);
    uint32_t least = table.guide[cell];
    uint32_t most = table.guide[cell + 1];
    while (least < most) {
        const uint32_t middle = (least + most) / 2;
        if (table.thresholds[middle] <= u) {
            least = middle + 1;
        } else {
            most = middle;
        }
    }
    // The sum is exact, because both integers are far below 2^53.
    return table.first + (double)least;
}

}  // namespace ns
