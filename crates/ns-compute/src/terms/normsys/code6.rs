//! code6: a polynomial of degree six inside `|alpha| < 1` and linear outside (code 6 of ROOT's `FlexibleInterpVar`).

use ns_core::NormsysCode;

use super::{Beyond, Normsys};

/// Properties of code6.
pub(super) const CODE: Normsys =
    Normsys { code: NormsysCode::Code6, inside: 1.0, beyond: Beyond::Linear, coefficients, operations: 28 };

/// Returns the coefficients of `1 + alpha S + f(alpha) A` with `S = (hi - lo)/2`, `A = (hi + lo)/2 - 1` and
/// `f` of histosys code4p, so that value and the first two derivatives match the lines at 1 and -1.
pub(super) fn coefficients(lo: f64, hi: f64) -> [f64; 6] {
    let (s, a) = (0.5 * (hi - lo), 0.5 * ((hi - 1.0) + (lo - 1.0)));
    [s, 1.875 * a, 0.0, -1.25 * a, 0.0, 0.375 * a]
}
