//! Gaussian density with different widths below and above its peak.

use super::gaussian;
use crate::events::program::{Binary, Builder, Slot, Step};

/// Appends to the program `b` the steps that compute the density. Returns the slot (the index) of the result. `left`
/// and `right` are the slots of the widths below and above the peak.
pub(super) fn value(b: &mut Builder, x: Slot, mean: Slot, left: Slot, right: Slot) -> Slot {
    let below = b.push(Step::Less(x, mean));
    let sigma = b.push(Step::Select(below, left, right));
    let distance = b.sub(x, mean);
    let t = b.div(distance, sigma);
    gaussian::core(b, t)
}

/// Appends to the program `b` the steps that compute the integral over `lo..hi`: the part below the peak plus the part
/// above it. Returns the slot (the index) of the result.
pub(super) fn integral(b: &mut Builder, mean: Slot, left: Slot, right: Slot, ends: (f64, f64)) -> Slot {
    let (zero, lo, hi) = (b.number(0.0), b.number(ends.0), b.number(ends.1));
    let side = |b: &mut Builder, sigma: Slot, is_left: bool| {
        let (from, to) = (gaussian::pull(b, lo, mean, sigma), gaussian::pull(b, hi, mean, sigma));
        let mut limit = |t: Slot| {
            let below = b.push(Step::Less(t, zero));
            if is_left { b.push(Step::Select(below, t, zero)) } else { b.push(Step::Select(below, zero, t)) }
        };
        let (from, to) = (limit(from), limit(to));
        let integral = b.push(Step::Binary(Binary::NormalIntegral, from, to));
        b.mul(sigma, integral)
    };
    let (a, c) = (side(b, left, true), side(b, right, false));
    b.add(a, c)
}
