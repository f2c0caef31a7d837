//! The parts of a histosys template that the parameter multiplies.

use crate::number::Number;

/// Returns the parts `S` and `A` of a template with the yields `lo`, `nominal` and `hi` in a bin.
pub(crate) fn parts(lo: f64, nominal: f64, hi: f64) -> (f64, f64) {
    (0.5 * (hi - lo), 0.5 * ((hi - nominal) + (lo - nominal)))
}

/// Returns the derivatives of `alpha S + f A` by the yields `lo` and `hi`.
#[inline(always)]
pub(crate) fn by_yields<T: Number>(alpha: T, f: T) -> (T, T) {
    let half = T::splat(0.5);
    (half.mul(f.sub(alpha)), half.mul(f.add(alpha)))
}
