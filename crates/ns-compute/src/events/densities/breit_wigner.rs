//! Breit-Wigner density (the non-relativistic form).

use crate::events::program::{Builder, Slot, Unary};

/// Appends to the program `b` the steps that compute the density `1 / (1 + t^2)` with `t = 2 (x - mean) / width`.
/// Returns the slot (the index) of the result.
pub(super) fn value(b: &mut Builder, x: Slot, mean: Slot, width: Slot) -> Slot {
    let t = distance(b, x, mean, width);
    let one = b.number(1.0);
    let square = b.mul(t, t);
    let sum = b.add(one, square);
    b.unary(Unary::Reciprocal, sum)
}

/// Appends to the program `b` the steps that compute the integral of the density over `lo..hi`. Returns the slot (the
/// index) of the result.
pub(super) fn integral(b: &mut Builder, mean: Slot, width: Slot, (lo, hi): (f64, f64)) -> Slot {
    let (lo, hi) = (b.number(lo), b.number(hi));
    let (from, to) = (distance(b, lo, mean, width), distance(b, hi, mean, width));
    let (from, to) = (b.unary(Unary::Atan, from), b.unary(Unary::Atan, to));
    let angle = b.sub(to, from);
    let half = b.scale(0.5, width);
    b.mul(half, angle)
}

fn distance(b: &mut Builder, x: Slot, mean: Slot, width: Slot) -> Slot {
    let two = b.number(2.0);
    let inverse = b.div(two, width);
    let distance = b.sub(x, mean);
    b.mul(distance, inverse)
}
