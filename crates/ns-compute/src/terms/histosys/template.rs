//! Coefficients of a histosys template. A template changes the nominal yield of a bin by `alpha S + f(alpha) A`.

use crate::number::Number;

/// Returns the coefficients `S = (hi - lo)/2` and `A = (hi + lo)/2 - nominal`. The arguments are the yields of a bin
/// at alpha = -1, 0 and 1.
pub(crate) fn parts(lo: f64, nominal: f64, hi: f64) -> (f64, f64) {
    (0.5 * (hi - lo), 0.5 * ((hi - nominal) + (lo - nominal)))
}

/// Returns the derivatives of `alpha S + f A` with respect to the yields `lo` and `hi`.
#[inline(always)]
pub(crate) fn by_yields<T: Number>(alpha: T, f: T) -> (T, T) {
    let half = T::splat(0.5);
    (half.mul(f.sub(alpha)), half.mul(f.add(alpha)))
}
