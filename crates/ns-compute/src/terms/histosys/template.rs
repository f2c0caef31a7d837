//! Coefficients of a histosys template. The template adds `alpha S + f(alpha) A` to the nominal yield of a bin, where
//! `alpha` is the parameter and `f` the interpolation function.

use crate::number::Number;

/// Returns the coefficients `S = (hi - lo)/2` and `A = (hi + lo)/2 - nominal`. The arguments are the yields of a bin at
/// the parameter values -1, 0 and 1.
pub(crate) fn parts(lo: f64, nominal: f64, hi: f64) -> (f64, f64) {
    (0.5 * (hi - lo), 0.5 * ((hi - nominal) + (lo - nominal)))
}

/// Returns the derivatives of the histosys variation `alpha S + f A` with respect to the yields `lo` and `hi` at the
/// parameter values -1 and 1. `alpha` is the current parameter value, and `f` the interpolation function there.
#[inline(always)]
pub(crate) fn by_yields<T: Number>(alpha: T, f: T) -> (T, T) {
    let half = T::splat(0.5);
    (half.mul(f.sub(alpha)), half.mul(f.add(alpha)))
}
