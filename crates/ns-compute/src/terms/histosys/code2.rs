//! The interpolation code code2, which is quadratic for `|alpha| <= 1` and linear outside (`pyhf.interpolators.code2`).

use super::{Curved, EDGE};
use crate::simd::Vector;

/// Returns the interpolation function `f` with its first and second derivatives. `f` is `alpha^2` for `|alpha| <= 1`
/// and `2 |alpha| - 1` outside.
#[inline(always)]
pub(super) fn curved<V: Vector>(alpha: V) -> Curved<V> {
    let (size, edge, two) = (alpha.abs(), V::splat(EDGE), V::splat(2.0));
    Curved {
        f: size.below(edge, alpha.mul(alpha), size.mul_add(two, V::splat(-1.0))),
        first: size.below(edge, alpha, alpha.sign()).mul(two),
        second: size.below(edge, two, V::splat(0.0)),
    }
}
