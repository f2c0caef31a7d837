//! The interpolation code code4p, which is a sixth-order polynomial for `|alpha| <= 1` and linear outside
//! (`pyhf.interpolators.code4p`).

use super::{Curved, EDGE};
use crate::simd::Vector;

/// Returns the interpolation function `f` with its first and second derivatives. `f` is
/// `(3 alpha^6 - 10 alpha^4 + 15 alpha^2)/8` for `|alpha| <= 1` and `|alpha|` outside.
#[inline(always)]
pub(super) fn curved<V: Vector>(alpha: V) -> Curved<V> {
    let (size, edge, s) = (alpha.abs(), V::splat(EDGE), alpha.mul(alpha));
    Curved {
        f: size.below(edge, square(s, 0.375, -1.25, 1.875).mul(s), size),
        first: size.below(edge, square(s, 2.25, -5.0, 3.75).mul(alpha), alpha.sign()),
        second: size.below(edge, square(s, 11.25, -15.0, 3.75), V::splat(0.0)),
    }
}

/// Returns the value of the quadratic polynomial `a s^2 + b s + c`.
#[inline(always)]
fn square<V: Vector>(s: V, a: f64, b: f64, c: f64) -> V {
    s.mul_add(V::splat(a), V::splat(b)).mul_add(s, V::splat(c))
}
