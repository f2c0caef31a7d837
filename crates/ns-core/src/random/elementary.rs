//! Logarithm and exponential as fixed sequences of exact operations.
//!
//! A platform's own functions differ in their last bit from library to library and from processor to
//! graphics card. These are plain `+ - * /` in a written order and so give the same bits wherever IEEE 754
//! doubles do. The coefficients are those of the Taylor series, rounded once each, so they need no table
//! and no source but their formula.

/// The upper 32 bits of ln 2: a product with an exponent (11 bits) is exact.
const LN2_HIGH: f64 = f64::from_bits(0x3FE6_2E42_FEE0_0000);
/// ln 2 less [`LN2_HIGH`], 1.9e-10.
const LN2_LOW: f64 = f64::from_bits(0x3DEA_39EF_3579_3C76);
/// 1 / ln 2.
const LN2_INVERSE: f64 = std::f64::consts::LOG2_E;

/// The bits of 1/sqrt(2), rounded up to the precision of its upper word.
const HALF_ROOT: u64 = 0x3FE6_A09E_0000_0000;
/// The fraction bits of a double.
const FRACTION: u64 = (1 << 52) - 1;
/// Bias of the exponent of a double.
const BIAS: i64 = 1023;

/// 2/(2j+1) for j = 10 down to 1: the series of (2 atanh s - 2 s) / s in powers of s^2.
const ATANH: [f64; 10] = [
    2.0 / 21.0,
    2.0 / 19.0,
    2.0 / 17.0,
    2.0 / 15.0,
    2.0 / 13.0,
    2.0 / 11.0,
    2.0 / 9.0,
    2.0 / 7.0,
    2.0 / 5.0,
    2.0 / 3.0,
];

/// 1/n! for n = 13 down to 2.
const FACTORIAL: [f64; 12] = [
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    1.0 / 2.0,
];

/// The natural logarithm of a positive normal number; NaN for anything else (zero, negative, subnormal,
/// infinite).
///
/// The error is below 1 unit in the last place. With `x = 2^k (1 + f)` and `1 + f` between 1/sqrt(2) and
/// sqrt(2), `ln(1 + f) = 2 atanh(s) = f - s (f - R)` where `s = f / (2 + f)` and `R` is the series after its
/// first term: `f` is exact, so only the small correction carries rounding. Ten terms leave a
/// truncation error of 1e-18 of the result.
#[must_use]
#[inline]
pub fn ln(x: f64) -> f64 {
    if !(f64::MIN_POSITIVE..=f64::MAX).contains(&x) {
        return f64::NAN;
    }
    // Adding the distance from 1/sqrt(2) to 1 carries into the exponent exactly where 1 + f would be below.
    let shifted = x.to_bits() + (1.0_f64.to_bits() - HALF_ROOT);
    let k = (shifted >> 52) as i64 - BIAS;
    let f = f64::from_bits((shifted & FRACTION) + HALF_ROOT) - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let mut series = 0.0;
    for c in ATANH {
        series = (series + c) * z;
    }
    let k = k as f64;
    k * LN2_HIGH + (f - (s * (f - series) - k * LN2_LOW))
}

/// The exponential; 0 below -708 and infinity above 709, NaN for NaN.
///
/// The error is below 1 unit in the last place. With `x = k ln 2 + r` and `|r|` at most half of ln 2, `e^r` is the
/// Taylor polynomial of degree 13, whose truncation error is 6e-18 of the result.
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
    let r = (x - k * LN2_HIGH) - k * LN2_LOW;
    let mut series = 0.0;
    for c in FACTORIAL {
        series = series * r + c;
    }
    let scale = f64::from_bits(((k as i64 + BIAS) as u64) << 52);
    // A NaN leaves a scale of 1 (the conversion gives 0) and stays in `r`.
    (1.0 + (r + r * r * series)) * scale
}
