//! Interpolation between the up, nominal and down variations: one file per code.
//!
//! All histosys codes share one form, `nominal + alpha S + f(alpha) A` with
//! `S = (hi - lo)/2` and `A = (hi + lo)/2 - nominal`; only `f` differs, and it
//! depends on the parameter alone. So a code is three numbers per parameter:
//! `f`, `f'` and `f''`.

mod histosys_code0;
mod histosys_code2;
mod histosys_code4p;
mod normsys_code4;

use ns_core::HistosysCode;

pub(crate) use normsys_code4::{coefficients, polynomial, polynomial_derivatives};

/// `f`, `f'` and `f''` of a histosys code at one parameter value.
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
        HistosysCode::Code0 => histosys_code0::curved(alpha),
        HistosysCode::Code2 => histosys_code2::curved(alpha),
        HistosysCode::Code4p => histosys_code4p::curved(alpha),
    }
}
