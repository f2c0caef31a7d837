//! code0: lines to both sides, which meet in a kink at 0 (`pyhf.interpolators.code0`, as a factor).

use ns_core::NormsysCode;

use super::{Beyond, Normsys, code6};

/// The code.
pub(super) const CODE: Normsys = Normsys {
    code: NormsysCode::Code0,
    inside: 0.0,
    beyond: Beyond::Linear,
    coefficients: code6::coefficients,
    // The factor, the product over terms, and the gradient.
    operations: 8,
};
