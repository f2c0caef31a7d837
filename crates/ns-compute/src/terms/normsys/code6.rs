//! The interpolation code code6 for factors, which is a polynomial of degree six for `|alpha| < 1` and linear outside
//! (code 6 of ROOT's `FlexibleInterpVar`).

use ns_core::NormsysCode;

use super::{Beyond, Normsys, Polynomial};
use crate::number::Number;

/// Properties of the normsys interpolation code code6.
pub(super) const CODE: Normsys = Normsys {
    code: NormsysCode::Code6,
    inside: 1.0,
    polynomial: Polynomial::Factor,
    beyond: Beyond::Linear,
    coefficients,
    coefficients_of_jets: coefficients,
    operations: 28,
};

/// Returns the coefficients of the powers `alpha` to `alpha^6` of the polynomial `1 + alpha S + f(alpha) A`, with
/// `S = (hi - lo)/2`, `A = (hi + lo)/2 - 1`, and the interpolation function `f` of the histosys interpolation code
/// code4p. The value and first two derivatives of the polynomial agree with those of the outer lines at 1 and -1.
pub(super) fn coefficients<T: Number>(lo: T, hi: T) -> [T; 6] {
    let (one, half, zero) = (T::splat(1.0), T::splat(0.5), T::splat(0.0));
    let (s, a) = (half.mul(hi.sub(lo)), half.mul(hi.sub(one).add(lo.sub(one))));
    let times = |factor| T::splat(factor).mul(a);
    [s, times(1.875), zero, times(-1.25), zero, times(0.375)]
}
