//! The interpolation code code0, which is piecewise linear (`pyhf.interpolators.code0`).

use super::Curved;
use crate::simd::Vector;

/// Returns the interpolation function `f = |alpha|` with its first and second derivatives. At 0 the first derivative is
/// 0, the mean of its values on both sides.
#[inline(always)]
pub(super) fn curved<V: Vector>(alpha: V) -> Curved<V> {
    Curved { f: alpha.abs(), first: alpha.sign(), second: V::splat(0.0) }
}
