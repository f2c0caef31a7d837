//! An exponential decay, smeared by a Gaussian.

use super::erfcx::erfcx;
use crate::simd::MulAdd;

/// The number 1 / sqrt(2 pi).
const INVERSE_ROOT_TWO_PI: f64 = 0.398_942_280_401_432_677_94;

/// Returns the convolution of `exp(-c s)`, for positive `s`, with the normal density, at `u`: the integral of
/// `exp(-c s - (u - s)^2/2) / sqrt(2 pi)` over `s` from 0 to infinity. It is followed by five derivatives: with respect to
/// `u`, to `c`, to `u` twice, to `u` and `c`, and to `c` twice. `c` is positive. `exp` returns the exponential.
///
/// With `z = (c - u) / sqrt(2)` the value is `exp(-u^2/2) erfcx(z) / 2`. For negative `z` it is
/// `exp(c^2/2 - c u) - exp(-u^2/2) erfcx(-z) / 2`, in which nothing overflows. The derivatives follow from those of the
/// integral: the derivative with respect to `u` is the normal density minus `c` times the value.
#[inline(always)]
pub(in crate::events) fn smeared_decay<M: MulAdd>(u: f64, c: f64, exp: impl Fn(f64) -> f64) -> [f64; 6] {
    let distance = c - u;
    let gauss = exp(-0.5 * u * u);
    let near = 0.5 * gauss * erfcx::<M>(distance.abs() * std::f64::consts::FRAC_1_SQRT_2);
    let far = exp(c * (0.5 * c - u)) - near;
    let value = if distance < 0.0 { far } else { near };
    let phi = INVERSE_ROOT_TWO_PI * gauss;
    let by_u = phi - c * value;
    let by_c = distance * value - phi;
    // The product would be NaN where `u` is infinite.
    let bend = if phi == 0.0 { 0.0 } else { u * phi };
    [value, by_u, by_c, -bend - c * by_u, -value - c * by_c, value + distance * by_c]
}

#[cfg(test)]
mod tests {
    use super::smeared_decay;
    use crate::simd::{Fused, Separate};

    /// Values of mpmath with 30 digits, by `scripts/make_decay_values.py`: `u`, `c`, the value and its five derivatives.
    const KNOWN: &str = include_str!("smeared.txt");

    #[test]
    fn values_and_derivatives_agree_with_thirty_digits() {
        for line in KNOWN.lines() {
            let numbers: Vec<f64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
            let (u, c) = (numbers[0], numbers[1]);
            let exact = [
                smeared_decay::<Fused>(u, c, f64::exp),
                smeared_decay::<Separate>(u, c, crate::simd::exp::<Separate>),
            ];
            // The exponent `c u` and the cancellation between density and value cost digits.
            let room = 4e-15 * (1.0 + c * u.abs() + 0.5 * u * u + c * c);
            for (got, want) in exact.iter().flat_map(|found| found.iter().zip(&numbers[2..])) {
                assert!((got - want).abs() <= room * want.abs(), "{line}: {got} {want}");
            }
        }
    }

    #[test]
    fn far_away_the_value_is_that_of_the_decay_alone() {
        let [value, by_u, ..] = smeared_decay::<Fused>(1e4, 0.001, f64::exp);
        assert!(
            (value / (-10.0_f64 + 5e-7).exp() - 1.0).abs() < 1e-12 && (by_u / value + 0.001).abs() < 1e-15
        );
        assert_eq!(smeared_decay::<Fused>(-1e200, 3.0, f64::exp), [0.0; 6]);
    }
}
