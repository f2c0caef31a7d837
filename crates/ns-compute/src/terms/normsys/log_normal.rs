//! The interpolation code of an asymmetric `lnN` in a datacard of CMS Combine (`AsymPow` and
//! `ProcessNormalization`). The logarithm of the factor is a polynomial of degree six for `|alpha| < 1/2`, and
//! proportional to the distance from 0 outside.

use ns_core::NormsysCode;

use super::{Beyond, Normsys, Polynomial};
use crate::number::Number;

/// Properties of the normsys interpolation code of Combine's `lnN`.
pub(super) const CODE: Normsys = Normsys {
    code: NormsysCode::AsymmetricLogNormal,
    inside: 0.5,
    polynomial: Polynomial::Logarithm,
    beyond: Beyond::Exponential,
    coefficients,
    coefficients_of_jets: coefficients,
    // As for code4. One exponential per block is added to it.
    operations: 28,
};

/// Returns the coefficients `c1..c6` of the logarithm `c1 alpha + ... + c6 alpha^6` of the factor.
///
/// The logarithm is `alpha (a + d h(2 alpha))`, where `a` is the mean of `ln(hi)` and `-ln(lo)`, `d` is half of their
/// difference, and `h(x) = (3 x^5 - 10 x^3 + 15 x)/8`. At `x = 1`, `h` is 1 and its first two derivatives are 0.
fn coefficients<T: Number>(lo: T, hi: T) -> [T; 6] {
    let (log_hi, log_lo) = (hi.ln(), lo.ln());
    let (zero, half) = (T::splat(0.0), T::splat(0.5));
    let (a, d) = (half.mul(log_hi.sub(log_lo)), half.mul(log_hi.add(log_lo)));
    [a, d.mul(T::splat(3.75)), zero, d.mul(T::splat(-10.0)), zero, d.mul(T::splat(12.0))]
}
