//! Logarithm and exponential as fixed sequences of correctly rounded operations.
//!
//! The functions of a platform differ in their last bit from library to library and from CPU to GPU. The
//! functions here are `+ - * /` in a fixed order, and so give the same bits wherever IEEE 754 doubles are
//! used. The coefficients are those of the Taylor series, each rounded once.

use super::constants::{
    EXP_TERMS, EXPONENT_BIAS, FRACTION_BITS, HALF_ROOT_UPPER, LN_TERMS, LN2_REST, LN2_UPPER,
};

/// The number 1 / ln 2.
const LN2_INVERSE: f64 = std::f64::consts::LOG2_E;

/// Returns the natural logarithm of a positive normal number; NaN for anything else (zero, negative,
/// subnormal, infinite).
///
/// The error is below 1 unit in the last place. With `x = 2^k (1 + f)` and `1 + f` between 1/sqrt(2) and
/// sqrt(2), `ln(1 + f) = 2 atanh(s) = f - s (f - R)`, where `s = f / (2 + f)` and `R` is the series of
/// `(2 atanh(s) - 2 s) / s`. As `f` is exact, only the small correction has rounding errors. Ten terms of the
/// series leave a truncation error of 1e-18 of the result.
#[must_use]
#[inline]
pub fn ln(x: f64) -> f64 {
    if !(f64::MIN_POSITIVE..=f64::MAX).contains(&x) {
        return f64::NAN;
    }
    // Adding the difference of the bits of 1 and 1/sqrt(2) carries into the exponent if the mantissa is at
    // least sqrt(2).
    let shifted = x.to_bits() + (1.0_f64.to_bits() - HALF_ROOT_UPPER);
    let k = (shifted >> 52) as i64 - EXPONENT_BIAS;
    let f = f64::from_bits((shifted & FRACTION_BITS) + HALF_ROOT_UPPER) - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let mut series = 0.0;
    for c in LN_TERMS {
        series = (series + c) * z;
    }
    let k = k as f64;
    k * LN2_UPPER + (f - (s * (f - series) - k * LN2_REST))
}

/// Returns the exponential of `x`; 0 below -708, infinity above 709, NaN for NaN.
///
/// The error is below 1 unit in the last place. With `x = k ln 2 + r` and `|r|` at most half of ln 2, `e^r`
/// is the Taylor polynomial of degree 13, whose truncation error is 6e-18 of the result.
#[must_use]
#[inline]
pub fn exp(x: f64) -> f64 {
    if x < -708.0 {
        return 0.0;
    }
    if x > 709.0 {
        return f64::INFINITY;
    }
    let k = (x * LN2_INVERSE + 0.5).floor();
    let r = (x - k * LN2_UPPER) - k * LN2_REST;
    let mut series = 0.0;
    for c in EXP_TERMS {
        series = series * r + c;
    }
    let scale = f64::from_bits(((k as i64 + EXPONENT_BIAS) as u64) << 52);
    // For NaN the conversion of `k` gives 0 and the scale is 1; `r` is NaN, and so is the result.
    (1.0 + (r + r * r * series)) * scale
}
