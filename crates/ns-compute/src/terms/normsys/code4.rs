//! The interpolation code code4 for factors, which is a polynomial of degree six for `|alpha| < 1` and an exponential
//! outside (`pyhf.interpolators.code4` with `alpha0 = 1`).

use ns_core::NormsysCode;

use super::{Beyond, Normsys, Polynomial};
use crate::number::Number;

/// Properties of the normsys interpolation code code4.
pub(super) const CODE: Normsys = Normsys {
    code: NormsysCode::Code4,
    inside: 1.0,
    polynomial: Polynomial::Factor,
    beyond: Beyond::Exponential,
    coefficients,
    coefficients_of_jets: coefficients,
    // Operations of the value and slope of a polynomial of degree six, of the product over terms, and of the
    // gradient.
    operations: 28,
};

/// Returns the coefficients `c1..c6` of the polynomial `1 + c1 alpha + ... + c6 alpha^6`. Its value and first two
/// derivatives agree with those of `hi^alpha` at 1, and with those of `lo^-alpha` at -1.
///
/// The equations for the coefficients are split into those for the even part of the polynomial and those for its odd
/// part. At 1, the value of the even part is `(up + down)/2`, and that of the odd part is `(up - down)/2`, where `up`
/// and `down` are the values of the polynomial at 1 and -1. The same formulas hold for the second derivatives. For the
/// slopes the signs are swapped: the even part has the difference, and the odd part the sum.
pub(super) fn coefficients<T: Number>(lo: T, hi: T) -> [T; 6] {
    let (log_hi, log_lo) = (hi.ln(), lo.ln());
    let (one, half) = (T::splat(1.0), T::splat(0.5));
    // Value (minus 1), first and second derivatives at 1, and the same at -1 (mirrored).
    let (v_up, d_up, s_up) = (hi.sub(one), hi.mul(log_hi), hi.mul(log_hi).mul(log_hi));
    let (v_dn, d_dn, s_dn) = (lo.sub(one), T::splat(0.0).sub(lo.mul(log_lo)), lo.mul(log_lo).mul(log_lo));
    let sum = |factors: [f64; 3], [v, d, s]: [T; 3]| {
        let [a, b, c] = factors.map(T::splat);
        a.mul(v).add(b.mul(d)).add(c.mul(s))
    };
    // Equations of the even part: c2 + c4 + c6 = v, 2 c2 + 4 c4 + 6 c6 = d, 2 c2 + 12 c4 + 30 c6 = s.
    let even = [half.mul(v_up.add(v_dn)), half.mul(d_up.sub(d_dn)), half.mul(s_up.add(s_dn))];
    let c6 = sum([1.0, -0.625, 0.125], even);
    let c4 = sum([-3.0, 1.75, -0.25], even);
    let c2 = sum([3.0, -1.125, 0.125], even);
    // Equations of the odd part: c1 + c3 + c5 = v, c1 + 3 c3 + 5 c5 = d, 6 c3 + 20 c5 = s.
    let odd = [half.mul(v_up.sub(v_dn)), half.mul(d_up.add(d_dn)), half.mul(s_up.sub(s_dn))];
    let c5 = sum([0.375, -0.375, 0.125], odd);
    let c3 = sum([-1.25, 1.25, -0.25], odd);
    let c1 = sum([1.875, -0.875, 0.125], odd);
    [c1, c2, c3, c4, c5, c6]
}
