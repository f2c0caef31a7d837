//! Johnson's S_U density.

use super::gaussian;
use crate::events::program::{Binary, Builder, Slot, Step, Unary};

/// Appends to the program `b` the steps that compute the density. Returns the slot (the index) of the result. The
/// density is `exp(-s^2/2) / sqrt(1 + z^2)` with `s = gamma + delta asinh z` and `z = (x - mean) / width`. `own`
/// contains the slots of mean, width, gamma and delta.
pub(super) fn value(b: &mut Builder, x: Slot, own: [Slot; 4]) -> Slot {
    let (z, s) = normal(b, x, own);
    let core = gaussian::core(b, s);
    let one = b.number(1.0);
    let square = b.mul(z, z);
    let sum = b.add(one, square);
    let root = b.unary(Unary::Power(-0.5), sum);
    b.mul(core, root)
}

/// Appends to the program `b` the steps that compute the integral of the density over `lo..hi`. Returns the slot (the
/// index) of the result. The variable of integration is changed from `x` to `s = gamma + delta asinh((x - mean) /
/// width)`. The integrand is then `width / delta exp(-s^2/2)`.
pub(super) fn integral(b: &mut Builder, own: [Slot; 4], (lo, hi): (f64, f64)) -> Slot {
    let (lo, hi) = (b.number(lo), b.number(hi));
    let ((_, from), (_, to)) = (normal(b, lo, own), normal(b, hi, own));
    let area = b.push(Step::Binary(Binary::NormalIntegral, from, to));
    let [_, width, _, delta] = own;
    let scale = b.div(width, delta);
    b.mul(scale, area)
}

/// Appends to the program `b` the steps that compute `z = (x - mean) / width` and `s = gamma + delta asinh z`. Returns
/// the slots (the indices) of both results.
fn normal(b: &mut Builder, x: Slot, [mean, width, gamma, delta]: [Slot; 4]) -> (Slot, Slot) {
    let z = gaussian::pull(b, x, mean, width);
    let bent = b.unary(Unary::Asinh, z);
    let scaled = b.mul(delta, bent);
    (z, b.add(gamma, scaled))
}
