//! The scaled complementary error function.

use super::erfcx_terms::{PLACE, TERMS};
use crate::simd::MulAdd;

/// Larger arguments are replaced by this number, so that no product overflows.
const LARGEST: f64 = 1e100;

/// Returns `exp(x^2) erfc(x)` for `x >= 0`, with a relative error of a few units in the last place.
///
/// The function times `1 + 2 x` is a sum of Chebyshev polynomials of `(x - k) / (x + k)` (M. Shepherd and J. Laframboise,
/// Math. Comp. 36 (1981) 249), here summed as powers. There are no branches, so that loops over events can use vectors.
#[inline(always)]
pub(in crate::events) fn erfcx<M: MulAdd>(x: f64) -> f64 {
    let x = if x > LARGEST { LARGEST } else { x };
    let (sum, twice) = (x + PLACE, M::mul_add(2.0, x, 1.0));
    // One division for both quotients.
    let inverse = 1.0 / (sum * twice);
    let t = (x - PLACE) * (twice * inverse);
    let mut value = TERMS[0];
    for term in &TERMS[1..] {
        value = M::mul_add(value, t, *term);
    }
    value * (sum * inverse)
}

#[cfg(test)]
mod tests {
    use super::erfcx;
    use crate::simd::{Fused, Separate};

    #[test]
    fn the_function_agrees_with_thirty_digits() {
        // mpmath
        let known = [
            (0.0, 1.0),
            (0.0009765625, 0.998_899_020_193_814_2),
            (0.5, 0.615_690_344_192_925_87),
            (1.75, 0.284_972_234_737_436_4),
            (5.0, 0.110_704_637_733_068_63),
            (27.0, 0.020_881_607_990_420_94),
            (1000.0, 0.000_564_189_301_453_387_7),
            (1e9, 5.641_895_835_477_563e-10),
        ];
        for (x, want) in known {
            for got in [erfcx::<Fused>(x), erfcx::<Separate>(x)] {
                assert!((got - want).abs() < 2e-15 * want, "{x}: {got} {want}");
            }
        }
    }
}
