//! Gaussian density.

use crate::events::program::{Binary, Builder, Slot, Step, Unary};

/// Appends to the program `b` the steps that compute the density `exp(-t^2/2)` with `t = (x - mean) / sigma`. Returns
/// the slot (the index) of the result.
pub(super) fn value(b: &mut Builder, x: Slot, mean: Slot, sigma: Slot) -> Slot {
    let t = pull(b, x, mean, sigma);
    core(b, t)
}

/// Appends to the program `b` the steps that compute `(x - mean) / sigma`. Returns the slot (the index) of the result.
pub(super) fn pull(b: &mut Builder, x: Slot, mean: Slot, sigma: Slot) -> Slot {
    let distance = b.sub(x, mean);
    let one = b.number(1.0);
    // The reciprocal is computed once per evaluation, which saves a division per event.
    let inverse = b.div(one, sigma);
    b.mul(distance, inverse)
}

/// Appends to the program `b` the steps that compute `exp(-t^2/2)`. Returns the slot (the index) of the result.
pub(super) fn core(b: &mut Builder, t: Slot) -> Slot {
    let square = b.mul(t, t);
    let exponent = b.scale(-0.5, square);
    b.unary(Unary::Exp, exponent)
}

/// Appends to the program `b` the steps that compute the integral of the density over `lo..hi`. Returns the slot (the
/// index) of the result.
pub(super) fn integral(b: &mut Builder, mean: Slot, sigma: Slot, (lo, hi): (f64, f64)) -> Slot {
    let (lo, hi) = (b.number(lo), b.number(hi));
    let (from, to) = (pull(b, lo, mean, sigma), pull(b, hi, mean, sigma));
    let integral = b.push(Step::Binary(Binary::NormalIntegral, from, to));
    b.mul(sigma, integral)
}
