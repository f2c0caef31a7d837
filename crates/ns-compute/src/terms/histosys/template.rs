//! Coefficients of a histosys template: a template changes the nominal yield by `alpha S + f(alpha) A`.

use crate::number::Number;

/// Returns the coefficients `S = (hi - lo)/2` and `A = (hi + lo)/2 - nominal` for the yields `lo`, `nominal`
/// and `hi` of a bin.
pub(crate) fn parts(lo: f64, nominal: f64, hi: f64) -> (f64, f64) {
    (0.5 * (hi - lo), 0.5 * ((hi - nominal) + (lo - nominal)))
}

/// Returns the derivatives of `alpha S + f A` with respect to the yields `lo` and `hi`.
#[inline(always)]
pub(crate) fn by_yields<T: Number>(alpha: T, f: T) -> (T, T) {
    let half = T::splat(0.5);
    (half.mul(f.sub(alpha)), half.mul(f.add(alpha)))
}
