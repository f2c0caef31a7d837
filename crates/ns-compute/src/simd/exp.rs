//! Exponential function without branches.

use super::MulAdd;
use crate::shared_constants::{EXP_TERMS, LN2_HIGH, LN2_LOW, LOG2_E, ROUND_TO_INTEGER};

/// Returns `e^x` with an error of about one unit in the last place. A result that is too small for a double becomes 0,
/// and a result that is too large becomes infinity.
///
/// The argument is reduced as `x = k ln 2 + r` with an integer `k` and `|r| <= ln(2)/2`. For `r` the Taylor polynomial
/// of degree 13 is used, whose truncation error is below 2^-57.
#[inline(always)]
pub(crate) fn exp<M: MulAdd>(x: f64) -> f64 {
    let clamped = x.clamp(-745.5, 710.0);
    let shifted = M::mul_add(clamped, LOG2_E, ROUND_TO_INTEGER);
    let k = shifted - ROUND_TO_INTEGER;
    let r = M::mul_add(-k, LN2_LOW, M::mul_add(-k, LN2_HIGH, clamped));
    let mut p = EXP_TERMS[0];
    for c in &EXP_TERMS[1..] {
        p = M::mul_add(p, r, *c);
    }
    let e = M::mul_add(p, r * r, r) + 1.0;
    // The multiplication by 2^k is made in two steps, because subnormal and infinite results would otherwise be
    // wrong.
    let integer = shifted.to_bits().wrapping_sub(ROUND_TO_INTEGER.to_bits()) as i64;
    let half = integer >> 1;
    let rest = integer.wrapping_sub(half);
    let a = f64::from_bits((half.wrapping_add(1023) as u64) << 52);
    let b = f64::from_bits((rest.wrapping_add(1023) as u64) << 52);
    e * a * b
}

#[cfg(test)]
mod tests {
    use super::super::{Fused, Separate};
    use super::exp;

    #[test]
    fn agrees_with_the_standard_library() {
        let mut worst: f64 = 0.0;
        for i in -7000..7000 {
            let x = f64::from(i) * 0.1013;
            let (a, b, want) = (exp::<Fused>(x), exp::<Separate>(x), x.exp());
            if want.is_finite() && want > f64::MIN_POSITIVE {
                worst = worst.max(((a - want) / want).abs()).max(((b - want) / want).abs());
            }
        }
        assert!(worst < 4e-16, "relative error {worst:e}");
        assert_eq!(exp::<Fused>(-800.0), 0.0);
        assert_eq!(exp::<Fused>(800.0), f64::INFINITY);
        assert!(exp::<Fused>(f64::NAN).is_nan());
    }
}
