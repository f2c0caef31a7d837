//! The interpolation code code1 for factors, which is an exponential on either side of 0, with a kink at 0
//! (`pyhf.interpolators.code1`).

use ns_core::NormsysCode;

use super::{Beyond, Normsys, Polynomial, code4};

/// Properties of the normsys interpolation code code1.
pub(super) const CODE: Normsys = Normsys {
    code: NormsysCode::Code1,
    inside: 0.0,
    polynomial: Polynomial::Factor,
    beyond: Beyond::Exponential,
    coefficients: code4::coefficients,
    coefficients_of_jets: code4::coefficients,
    // Operations of a term in the exponent, and of its part of the gradient.
    operations: 6,
};
