//! The interpolation code code0 for factors, which is a line on either side of 0, with a kink at 0
//! (`pyhf.interpolators.code0`, as a factor).

use ns_core::NormsysCode;

use super::{Beyond, Normsys, Polynomial, code6};

/// Properties of the normsys interpolation code code0.
pub(super) const CODE: Normsys = Normsys {
    code: NormsysCode::Code0,
    inside: 0.0,
    polynomial: Polynomial::Factor,
    beyond: Beyond::Linear,
    coefficients: code6::coefficients,
    coefficients_of_jets: code6::coefficients,
    // Operations of the factor, of the product over terms, and of the gradient.
    operations: 8,
};
