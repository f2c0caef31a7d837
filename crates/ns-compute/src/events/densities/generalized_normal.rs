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

/// Appends to the program `b` the steps of an integrand. Returns the slot (the index) of the result. The variable of
/// integration `t` goes from 0 to 1. The integral of the integrand is equal to the integral of the density over
/// `lo..hi`, the two numbers in `ends`.
///
/// The observable is replaced by `mean + (end - mean) t` for both ends. The kink at the mean is then at the end `t = 0`
/// of the range.
pub(super) fn integrand(
    b: &mut Builder,
    t: Slot,
    [mean, alpha, beta]: [Slot; 3],
    (lo, hi): (f64, f64),
) -> Slot {
    let mut side = |end: f64, sign: f64| {
        let end = b.number(end);
        let length = b.sub(end, mean);
        let size = b.unary(Unary::Abs, length);
        let distance = b.mul(size, t);
        let ratio = b.div(distance, alpha);
        let power = b.pow(ratio, beta);
        let exponent = b.scale(-1.0, power);
        let value = b.unary(Unary::Exp, exponent);
        let signed = b.scale(sign, length);
        b.mul(signed, value)
    };
    let (above, below) = (side(hi, 1.0), side(lo, -1.0));
    b.add(above, below)
}
