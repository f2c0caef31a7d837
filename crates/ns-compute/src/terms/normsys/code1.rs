//! code1: exponentials to both sides, which meet in a kink at 0 (`pyhf.interpolators.code1`).

use ns_core::NormsysCode;

use super::{Beyond, Normsys, code4};

/// The code.
pub(super) const CODE: Normsys = Normsys {
    code: NormsysCode::Code1,
    inside: 0.0,
    beyond: Beyond::Exponential,
    coefficients: code4::coefficients,
    // A term of the exponent, and the gradient.
    operations: 6,
};
