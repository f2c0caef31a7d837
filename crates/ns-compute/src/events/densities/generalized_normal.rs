//! Generalized normal density.

use crate::events::program::{Builder, Slot, Step, Unary};

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
/// The range is divided at the mean, or at the end of the range that is nearest to it, `cut`. The observable is replaced
/// by `cut + (end - cut) t^4` for both ends. The singularity at the mean, like `t^(4 beta)`, is then at the end `t = 0` of
/// the range, and so weak that derivatives with respect to `beta` are integrated accurately, too.
pub(super) fn integrand(
    b: &mut Builder,
    t: Slot,
    [mean, alpha, beta]: [Slot; 3],
    (lo, hi): (f64, f64),
) -> Slot {
    let ends = [b.number(lo), b.number(hi)];
    let cut = b.max(ends[0], mean);
    let cut = b.min(ends[1], cut);
    let before = b.sub(cut, mean);
    let (zero, one) = (b.number(0.0), b.number(1.0));
    let square = b.mul(t, t);
    let place_of_t = b.mul(square, square);
    let cube = b.mul(square, t);
    let speed = b.scale(4.0, cube);
    let mut side = |end: Slot, sign: f64| {
        let length = b.sub(end, cut);
        let step = b.mul(length, place_of_t);
        let place = b.add(before, step);
        let distance = b.unary(Unary::Abs, place);
        let ratio = b.div(distance, alpha);
        // A power of 0 may have infinite derivatives. A side without length needs none.
        let is_empty = b.push(Step::Equal(length, zero));
        let ratio = b.push(Step::Select(is_empty, one, ratio));
        let power = b.pow(ratio, beta);
        let exponent = b.scale(-1.0, power);
        let value = b.unary(Unary::Exp, exponent);
        let signed = b.scale(sign, length);
        b.mul(signed, value)
    };
    let (above, below) = (side(ends[1], 1.0), side(ends[0], -1.0));
    let both = b.add(above, below);
    b.mul(speed, both)
}
