//! code4: a polynomial of degree six inside `|alpha| < 1` and an exponential outside (`pyhf.interpolators.code4` with
//! `alpha0 = 1`).

use ns_core::NormsysCode;

use super::{Beyond, Normsys};

/// Properties of code4.
pub(super) const CODE: Normsys = Normsys {
    code: NormsysCode::Code4,
    inside: 1.0,
    beyond: Beyond::Exponential,
    coefficients,
    // Operations of value and slope of a polynomial of degree six, the product over terms, and the gradient.
    operations: 28,
};

/// Returns the coefficients `c1..c6` of `1 + c1 alpha + ... + c6 alpha^6`, such that value and the first two
/// derivatives match `hi^alpha` at 1 and `lo^-alpha` at -1.
///
/// Solved by splitting into even and odd parts at `alpha = 1`: with
/// `E = (up + down)/2` and `O = (up - down)/2` for value, slope and curvature.
pub(super) fn coefficients(lo: f64, hi: f64) -> [f64; 6] {
    let (log_hi, log_lo) = (hi.ln(), lo.ln());
    // Value (minus 1), first and second derivative at +1 and, mirrored, at -1.
    let (v_up, d_up, s_up) = (hi - 1.0, hi * log_hi, hi * log_hi * log_hi);
    let (v_dn, d_dn, s_dn) = (lo - 1.0, -lo * log_lo, lo * log_lo * log_lo);
    // Even part c2 + c4 + c6 = v, 2 c2 + 4 c4 + 6 c6 = d, 2 c2 + 12 c4 + 30 c6 = s.
    let (v, d, s) = (0.5 * (v_up + v_dn), 0.5 * (d_up - d_dn), 0.5 * (s_up + s_dn));
    let c6 = v - 0.625 * d + 0.125 * s;
    let c4 = -3.0 * v + 1.75 * d - 0.25 * s;
    let c2 = 3.0 * v - 1.125 * d + 0.125 * s;
    // Odd part c1 + c3 + c5 = v, c1 + 3 c3 + 5 c5 = d, 6 c3 + 20 c5 = s.
    let (v, d, s) = (0.5 * (v_up - v_dn), 0.5 * (d_up + d_dn), 0.5 * (s_up - s_dn));
    let c5 = 0.375 * v - 0.375 * d + 0.125 * s;
    let c3 = -1.25 * v + 1.25 * d - 0.25 * s;
    let c1 = 1.875 * v - 0.875 * d + 0.125 * s;
    [c1, c2, c3, c4, c5, c6]
}
