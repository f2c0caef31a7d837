//! The Poisson term relative to its value in the saturated model (in which the expected yield equals the count). It is
//! computed without cancellation.

use ns_core::random::constants::FRACTION_BITS;

use crate::shared_constants::{DEVIANCE_TERMS, HALF_ROOT_BITS, LN2_HIGH, LN2_LOW, ONE_BITS};
use crate::simd::{MulAdd, Vector};

/// Returns the Poisson term relative to the saturated model: `lambda - n ln(lambda) - (n - n ln n)` for `n > 0` and
/// `lambda > 0`. It is zero at `lambda = n` and positive elsewhere. The relative error is a few units in the last
/// place.
///
/// With `z = (lambda - n)/n` the result is `n (z - log1p(z))`. Let `lambda/n = 2^k (1 + f)`. The difference
/// `z - log1p(z)` is then written so that nothing cancels: for `k = 0` it is `f^2/2 - s (f^2/2 + R)`, with
/// `s = f / (2 + f)` and a polynomial `R` in `s^2`, and `f = z` exactly.
#[inline(always)]
pub(crate) fn deviance<M: MulAdd>(lambda: f64, n: f64) -> f64 {
    let z = (lambda - n) / n;
    let x = lambda / n;
    // The exponent is chosen such that the mantissa is in [sqrt(1/2), sqrt(2)).
    let bits = x.to_bits().wrapping_add(ONE_BITS - HALF_ROOT_BITS);
    // The integer is converted to a double by setting its exponent bits, because AVX2 cannot convert 64-bit integers.
    let k = f64::from_bits(0x4330_0000_0000_0000 | (bits >> 52)) - (4_503_599_627_370_496.0 + 1023.0);
    let m = f64::from_bits((bits & FRACTION_BITS).wrapping_add(HALF_ROOT_BITS));
    let f = if k == 0.0 { z } else { m - 1.0 };
    let s = f / (2.0 + f);
    let s2 = s * s;
    let mut r = DEVIANCE_TERMS[6];
    for i in (0..6).rev() {
        r = M::mul_add(r, s2, DEVIANCE_TERMS[i]);
    }
    let half = 0.5 * f * f;
    let tail = s * M::mul_add(r, s2, half);
    // ln x = k ln 2 + f - (half - tail)
    let near = half - tail;
    let far = z - M::mul_add(k, LN2_HIGH, f - (near - k * LN2_LOW));
    n * if k == 0.0 { near } else { far }
}

/// Returns `z - log1p(z)` for `z` between -1/2 and 1, where nothing cancels: with `s = z / (2 + z)` it is `s (z - R)`, with
/// the same polynomial `R` in `s^2` as in [`deviance`]. Kernels in single precision use it. There its relative error is at
/// most 2e-6.
#[cfg(all(test, feature = "metal"))]
#[inline(always)]
pub(crate) fn near<V: Vector>(z: V) -> V {
    let s = z.div(z.add(V::splat(2.0)));
    let s2 = s.mul(s);
    let mut r = V::splat(DEVIANCE_TERMS[6]);
    for i in (0..6).rev() {
        r = r.mul_add(s2, V::splat(DEVIANCE_TERMS[i]));
    }
    s.mul(z.sub(r.mul(s2)))
}

/// Returns the first and second derivatives of the Poisson term with respect to the expected yield `lambda`:
/// `1 - n/lambda` and `n/lambda^2`. The count `n` must be positive.
#[inline(always)]
pub(crate) fn deviance_derivatives<V: Vector>(lambda: V, n: V) -> (V, V) {
    let inverse = V::splat(1.0).div(lambda);
    (lambda.sub(n).mul(inverse), n.mul(inverse).mul(inverse))
}

#[cfg(test)]
mod tests {
    use super::deviance;
    use crate::simd::{Fused, Separate};

    /// Returns the deviance `lambda - n ln(lambda) - (n - n ln n)` from this definition. Where the terms of the
    /// definition cancel, a series is used.
    fn oracle(lambda: f64, n: f64) -> f64 {
        let z = (lambda - n) / n;
        if z.abs() < 0.05 {
            // z - log1p(z) = z^2/2 - z^3/3 + ...
            let (mut sum, mut power) = (0.0, z);
            for k in 2..40 {
                power *= -z;
                sum -= power / f64::from(k);
            }
            n * sum
        } else {
            n * (z - z.ln_1p())
        }
    }

    #[test]
    fn is_accurate_near_and_far_from_the_data() {
        let mut worst: f64 = 0.0;
        for n in [1e-3, 0.7, 1.0, 3.0, 41.0, 1e4, 1e9] {
            for i in 1..4000 {
                let lambda = n * (f64::from(i) * 0.001);
                let want = oracle(lambda, n);
                for got in [deviance::<Fused>(lambda, n), deviance::<Separate>(lambda, n)] {
                    let scale = want.abs().max(f64::EPSILON * 1e-3 * (lambda - n).abs());
                    if scale > 0.0 {
                        worst = worst.max((got - want).abs() / scale);
                    }
                }
            }
        }
        assert!(worst < 5e-14, "relative error {worst:e}");
        assert_eq!(deviance::<Fused>(5.0, 5.0), 0.0);
    }

    #[test]
    fn holds_for_extreme_ratios() {
        for (lambda, n) in [(1e-300, 1.0), (1e300, 1.0), (1e-12, 1e9), (1e9, 1e-8)] {
            let z: f64 = (lambda - n) / n;
            let want = n * (z - f64::ln(lambda / n));
            let got = deviance::<Fused>(lambda, n);
            assert!(((got - want) / want).abs() < 1e-14, "{lambda:e} {n:e}: {got:e} {want:e}");
        }
    }
}
