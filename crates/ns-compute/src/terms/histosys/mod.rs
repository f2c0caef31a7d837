//! The histosys modifier: an additive variation of a sample's yields that depends on one parameter. Each interpolation
//! code has a file.
//!
//! With every interpolation code the yield of a bin is `nominal + alpha S + f(alpha) A`. `alpha` is the parameter,
//! `S = (hi - lo)/2` and `A = (hi + lo)/2 - nominal`, where `lo`, `nominal` and `hi` are the yields at the parameter
//! values -1, 0 and 1. Only the function `f` differs between codes, and it depends on the parameter alone. A code
//! therefore gives three numbers per parameter: `f`, `f'` and `f''`.

mod code0;
mod code2;
mod code4p;
pub(crate) mod template;
#[cfg(test)]
mod tests;

use ns_core::HistosysCode;

use crate::simd::Vector;

/// Value `f`, first derivative `f'` and second derivative `f''` of the histosys interpolation function at one value of
/// the parameter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Curved<V> {
    pub(crate) f: V,
    pub(crate) first: V,
    pub(crate) second: V,
}

/// The next double above 1. The condition `x < EDGE` is the same as `x <= 1`.
const EDGE: f64 = 1.0 + f64::EPSILON;

/// Returns the interpolation function of a histosys interpolation code and its first two derivatives at the parameter
/// value `alpha`. At the kink of code0 the first derivative is the mean of its values on both sides.
#[inline(always)]
pub(crate) fn curved<V: Vector>(code: HistosysCode, alpha: V) -> Curved<V> {
    match code {
        HistosysCode::Code0 => code0::curved(alpha),
        HistosysCode::Code2 => code2::curved(alpha),
        HistosysCode::Code4p => code4p::curved(alpha),
    }
}
