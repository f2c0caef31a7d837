//! A normsys factor that is a linear function of the distance of the parameter `alpha` from 0: `1 + rate |alpha|`.

use crate::simd::Vector;

/// Returns the rate for which the line `1 + rate |alpha|` is `factor` at `|alpha| = 1`.
pub(super) fn rate(factor: f64) -> f64 {
    factor - 1.0
}

/// Returns `1 + rate size`, which is the factor at the distance `size = |alpha|` from 0.
#[inline(always)]
pub(super) fn value<V: Vector>(size: V, rate: V) -> V {
    size.mul_add(rate, V::splat(1.0))
}

/// Returns the first and second derivatives of the factor with respect to the parameter `alpha`. `signed_rate` is the
/// result of [`super::signed_rate`].
#[inline(always)]
pub(super) fn derivatives<V: Vector>(signed_rate: V) -> (V, V) {
    (signed_rate, V::splat(0.0))
}

/// Returns the first and second derivatives of the factor with respect to the parameter `alpha`, both divided by the
/// factor. `signed_rate` is the result of [`super::signed_rate`], and `value` is the factor.
#[inline(always)]
pub(super) fn relative<V: Vector>(signed_rate: V, value: V) -> (V, V) {
    (signed_rate.mul(value.reciprocal()), V::splat(0.0))
}
