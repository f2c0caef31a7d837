//! Exponential density.

use ns_core::Observable;

use crate::events::program::{Builder, Slot, Step, Unary};

/// Appends to the program `b` the steps that compute the density `exp(-slope (x - origin))`. Returns the slot (the
/// index) of the result. `origin` is the end of the axis at which the density is largest, so the value is at most 1.
pub(super) fn value(b: &mut Builder, x: Slot, slope: Slot, axis: &Observable) -> Slot {
    let origin = larger_end(b, slope, (axis.min, axis.max));
    let distance = b.sub(x, origin);
    let product = b.mul(slope, distance);
    let exponent = b.scale(-1.0, product);
    b.unary(Unary::Exp, exponent)
}

/// Appends to the program `b` the steps that compute the integral of the density over `lo..hi`. Returns the slot (the
/// index) of the result.
pub(super) fn integral(b: &mut Builder, slope: Slot, axis: &Observable, (lo, hi): (f64, f64)) -> Slot {
    let end = larger_end(b, slope, (lo, hi));
    let largest = value(b, end, slope, axis);
    // The mean of the density over the interval, divided by its largest value there, is `Decay` of the absolute slope
    // times the length of the interval.
    let steep = b.unary(Unary::Abs, slope);
    let drop = b.scale(hi - lo, steep);
    let mean = b.unary(Unary::Decay, drop);
    let height = b.mul(largest, mean);
    b.scale(hi - lo, height)
}

/// Appends to the program `b` the steps that compute the end of the interval `lo..hi` at which the density is larger.
/// Returns the slot (the index) of the result.
fn larger_end(b: &mut Builder, slope: Slot, (lo, hi): (f64, f64)) -> Slot {
    let (zero, lo, hi) = (b.number(0.0), b.number(lo), b.number(hi));
    let rises = b.push(Step::Less(slope, zero));
    b.push(Step::Select(rises, hi, lo))
}
