//! histosys: an additive shift of a template that follows one parameter. One file per interpolation code.
//!
//! All codes share one form, `nominal + alpha S + f(alpha) A` with
//! `S = (hi - lo)/2` and `A = (hi + lo)/2 - nominal`; only `f` differs, and it
//! depends on the parameter alone. So a code is three numbers per parameter:
//! `f`, `f'` and `f''`.

mod code0;
mod code2;
mod code4p;

use ns_core::HistosysCode;

/// `f`, `f'` and `f''` of a code at one parameter value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Curved {
    pub(crate) f: f64,
    pub(crate) first: f64,
    pub(crate) second: f64,
}

/// Evaluates the code. At the kink of code0 the slope is the mean of both sides.
#[inline(always)]
pub(crate) fn curved(code: HistosysCode, alpha: f64) -> Curved {
    match code {
        HistosysCode::Code0 => code0::curved(alpha),
        HistosysCode::Code2 => code2::curved(alpha),
        HistosysCode::Code4p => code4p::curved(alpha),
    }
}
