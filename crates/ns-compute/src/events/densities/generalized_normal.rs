//! Generalized normal density.

use crate::events::program::{Builder, Slot, Unary};

/// Appends to the program `b` the steps that compute the density `exp(-(|x - mean| / alpha)^beta)`. Returns the slot
/// (the index) of the result.
pub(super) fn value(b: &mut Builder, x: Slot, mean: Slot, alpha: Slot, beta: Slot) -> Slot {
    let distance = b.sub(x, mean);
    let size = b.unary(Unary::Abs, distance);
    let ratio = b.div(size, alpha);
    let power = b.pow(ratio, beta);
    let exponent = b.scale(-1.0, power);
    b.unary(Unary::Exp, exponent)
}
