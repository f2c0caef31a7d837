//! Branch-free exponential.

use super::MulAdd;

const LOG2_E: f64 = std::f64::consts::LOG2_E;
// ln 2 split so that k * LN2_HI is exact for |k| < 2^11 (Cody and Waite).
const LN2_HI: f64 = 6.931_471_803_691_238_164_90e-1;
const LN2_LO: f64 = 1.908_214_929_270_587_700_02e-10;
// Adding this rounds to an integer in the low mantissa bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// `e^x`, within about one unit in the last place; saturates to 0 and infinity.
///
/// Argument reduction `x = k ln 2 + r`, `|r| <= ln(2)/2`, and the Taylor
/// polynomial of degree 13, whose truncation error there is below 2^-57.
#[inline(always)]
pub(crate) fn exp<M: MulAdd>(x: f64) -> f64 {
    let clamped = x.clamp(-745.5, 710.0);
    let shifted = M::mul_add(clamped, LOG2_E, ROUND);
    let k = shifted - ROUND;
    let r = M::mul_add(-k, LN2_LO, M::mul_add(-k, LN2_HI, clamped));
    const C: [f64; 12] = [
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
        0.5,
    ];
    let mut p = C[0];
    for c in &C[1..] {
        p = M::mul_add(p, r, *c);
    }
    let e = M::mul_add(p, r * r, r) + 1.0;
    // 2^k in two factors, so that results down to the subnormals and up to infinity come out.
    let integer = shifted.to_bits().wrapping_sub(ROUND.to_bits()) as i64;
    let half = integer >> 1;
    let rest = integer - half;
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
