//! Natural logarithm without branches.

use super::MulAdd;
use crate::shared_constants::{DEVIANCE_TERMS, LN2_HIGH, LN2_LOW};

/// Bits of the largest double below `1/sqrt(2)` whose low 32 bits are zero.
const HALF_ROOT: u64 = 0x3FE6_A09E_0000_0000;

/// Bit mask that selects the fraction (the low 52 bits) of a double.
const FRACTION: u64 = (1 << 52) - 1;

/// The number 2^54. Multiplying a subnormal number by it gives a normal number.
const SCALE: f64 = 18_014_398_509_481_984.0;

/// Bits of the number 1.5 times 2^52. If a small integer is added to this number, the low bits of the sum contain the
/// integer.
const MAGIC: u64 = 0x4338_0000_0000_0000;

/// Returns the natural logarithm of `x` with an error of about one unit in the last place. It is minus infinity for
/// 0, infinity for infinity, and NaN for negative numbers and NaN.
///
/// Let `x = 2^k (1 + f)` with `1 + f` between `sqrt(1/2)` and `sqrt(2)`. Then `ln(1 + f) = f - s (f - R)`, where
/// `s = f / (2 + f)` and `R` is a polynomial in `s^2`.
#[inline(always)]
pub(crate) fn ln<M: MulAdd>(x: f64) -> f64 {
    let small = x < f64::MIN_POSITIVE;
    let scaled = if small { x * SCALE } else { x };
    let shifted = scaled.to_bits().wrapping_add(1.0_f64.to_bits() - HALF_ROOT);
    // The exponent as a double. AVX2 has no instruction to convert a 64-bit integer, so the conversion uses bits.
    let biased = f64::from_bits(MAGIC | (shifted >> 52)) - f64::from_bits(MAGIC | 1023);
    let k = if small { biased - 54.0 } else { biased };
    let f = f64::from_bits((shifted & FRACTION) + HALF_ROOT) - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let mut series = 0.0;
    for c in DEVIANCE_TERMS.iter().rev() {
        series = M::mul_add(series, z, *c);
    }
    let rest = M::mul_add(s, M::mul_add(-series, z, f), -(k * LN2_LOW));
    let value = M::mul_add(k, LN2_HIGH, f - rest);
    let value = if x > 0.0 { value } else { f64::NAN };
    let value = if x == 0.0 { f64::NEG_INFINITY } else { value };
    if x == f64::INFINITY { f64::INFINITY } else { value }
}

#[cfg(test)]
mod tests {
    use super::super::{Fused, Separate};
    use super::ln;

    #[test]
    fn agrees_with_the_standard_library() {
        let mut worst: f64 = 0.0;
        for i in -7000..7000 {
            let x = (f64::from(i) * 0.1011).exp();
            for y in [x, 1.0 + f64::from(i) * 1e-5, 5e-324, f64::MIN_POSITIVE, f64::MAX] {
                let want = y.ln();
                for got in [ln::<Fused>(y), ln::<Separate>(y)] {
                    let scale = if want == 0.0 { 1.0 } else { want.abs() };
                    worst = worst.max((got - want).abs() / scale);
                }
            }
        }
        assert!(worst < 4e-16, "relative error {worst:e}");
        assert_eq!(ln::<Fused>(0.0), f64::NEG_INFINITY);
        assert_eq!(ln::<Fused>(f64::INFINITY), f64::INFINITY);
        assert!(ln::<Fused>(-1.0).is_nan() && ln::<Fused>(f64::NAN).is_nan());
    }
}
