// Arithmetic that is rounded once per operation and never fused.
//
// Random numbers have the same bits on the CPU and on every GPU only if each `+ - * /` and each square root is
// exactly the IEEE 754 operation. A CUDA compiler may fuse `a * b + c`, but it does not fuse functions with the
// suffix `_rn`. `Exact` provides these functions as operators. Formulas then look the same as in ns-core.
//
// On the CPU these operators are those of C++. The compiler needs the option `-ffp-contract=off`, which forbids
// fusing.
#pragma once

#include "block.cuh"

// Qualifiers of a constant table that is indexed at run time.
#ifdef __CUDACC__
#define NS_TABLE static __device__ const
#else
#define NS_TABLE static const
#endif

namespace ns {

// A double whose operators are IEEE 754 operations, each rounded to nearest.
struct Exact {
    double value;

    NS_DEVICE Exact(double value) : value(value) {}
};

#if defined(__CUDA_ARCH__)
NS_DEVICE Exact operator+(Exact a, Exact b) { return Exact(__dadd_rn(a.value, b.value)); }
NS_DEVICE Exact operator-(Exact a, Exact b) { return Exact(__dsub_rn(a.value, b.value)); }
NS_DEVICE Exact operator*(Exact a, Exact b) { return Exact(__dmul_rn(a.value, b.value)); }
NS_DEVICE Exact operator/(Exact a, Exact b) { return Exact(__ddiv_rn(a.value, b.value)); }
NS_DEVICE Exact exact_root(Exact a) { return Exact(__dsqrt_rn(a.value)); }
NS_DEVICE uint32_t high_half(uint32_t a, uint32_t b) { return __umulhi(a, b); }
#else
NS_DEVICE Exact operator+(Exact a, Exact b) { return Exact(a.value + b.value); }
NS_DEVICE Exact operator-(Exact a, Exact b) { return Exact(a.value - b.value); }
NS_DEVICE Exact operator*(Exact a, Exact b) { return Exact(a.value * b.value); }
NS_DEVICE Exact operator/(Exact a, Exact b) { return Exact(a.value / b.value); }
NS_DEVICE Exact exact_root(Exact a) { return Exact(sqrt(a.value)); }
NS_DEVICE uint32_t high_half(uint32_t a, uint32_t b) { return (uint32_t)(((uint64_t)a * b) >> 32); }
#endif

// These operations do not round.
NS_DEVICE Exact operator-(Exact a) { return Exact(-a.value); }
NS_DEVICE Exact magnitude(Exact a) { return Exact(fabs(a.value)); }
NS_DEVICE bool operator<(Exact a, Exact b) { return a.value < b.value; }
NS_DEVICE bool operator<=(Exact a, Exact b) { return a.value <= b.value; }
NS_DEVICE bool operator>(Exact a, Exact b) { return a.value > b.value; }
NS_DEVICE bool operator>=(Exact a, Exact b) { return a.value >= b.value; }
NS_DEVICE bool operator==(Exact a, Exact b) { return a.value == b.value; }

// Returns the greatest integer that is not above `x`. If `x` is outside the range of 64-bit integers, returns the
// nearest end of that range, as ns-core does.
NS_DEVICE Exact floor_of(Exact x) {
    const double limit = 9223372036854775808.0;
    if (x.value >= limit) {
        return Exact(limit);
    }
    if (x.value < -limit) {
        return Exact(-limit);
    }
    const double whole = (double)(int64_t)x.value;
    return whole > x.value ? Exact(whole) - Exact(1.0) : Exact(whole);
}

// Returns the natural logarithm of a positive normal floating-point number, and NaN for other arguments. The
// operations are those of `random/elementary.rs` in ns-core, which describes the method.
NS_DEVICE Exact exact_ln(Exact x) {
    if (!(x.value >= 0x1p-1022 && x.value <= 0x1.fffffffffffffp1023)) {
        return Exact(from_bits(0x7ff8000000000000ull));
    }
    const uint64_t shifted = bits(x.value) + (ONE_BITS - HALF_ROOT_UPPER);
    const Exact k = Exact((double)((int64_t)(shifted >> 52) - EXPONENT_BIAS));
    const Exact f = Exact(from_bits((shifted & FRACTION_BITS) + HALF_ROOT_UPPER)) - 1.0;
    const Exact s = f / (2.0 + f);
    const Exact z = s * s;
    const double terms[10] = NS_LN_TERMS;
    Exact series = 0.0;
#pragma unroll
    for (int i = 0; i < 10; ++i) {
        series = (series + terms[i]) * z;
    }
    return k * LN2_UPPER + (f - (s * (f - series) - k * LN2_REST));
}

}  // namespace ns
