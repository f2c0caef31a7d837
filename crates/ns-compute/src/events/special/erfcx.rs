//! The scaled complementary error function.

use super::erfcx_terms::{PLACE, TERMS};
use crate::simd::MulAdd;

/// Returns `exp(x^2) erfc(x)` for `x >= 0`, with a relative error of a few units in the last place.
///
/// The function times `1 + 2 x` is a sum of Chebyshev polynomials of `(x - k) / (x + k)` (M. Shepherd and J. Laframboise,
/// Math. Comp. 36 (1981) 249). There are no branches, so that loops over events can use vectors.
#[inline(always)]
pub(in crate::events) fn erfcx<M: MulAdd>(x: f64) -> f64 {
    let t = (x - PLACE) / (x + PLACE);
    let (mut next, mut after) = (0.0, 0.0);
    for term in TERMS[1..].iter().rev() {
        (next, after) = (M::mul_add(2.0 * t, next, term - after), next);
    }
    (M::mul_add(t, next, TERMS[0]) - after) / (1.0 + 2.0 * x)
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
