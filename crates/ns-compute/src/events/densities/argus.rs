//! The Argus density as steps of a program.

use crate::events::program::{Builder, Slot, Step, Unary};

/// Appends to the program `b` the steps that compute the density. Returns the slot (the index) of the result. The
/// density is `x u^power exp(slope u)` with `u = 1 - (x / resonance)^2`, and 0 where `u` is not positive.
pub(super) fn value(b: &mut Builder, x: Slot, resonance: Slot, slope: Slot, power: Slot) -> Slot {
    let (zero, u) = (b.number(0.0), remainder(b, x, resonance));
    let allowed = b.push(Step::Less(zero, u));
    let root = b.pow(u, power);
    let exponent = b.mul(slope, u);
    let exponential = b.unary(Unary::Exp, exponent);
    let product = b.mul(x, root);
    let value = b.mul(product, exponential);
    b.push(Step::Select(allowed, value, zero))
}

/// Appends to the program `b` the steps that compute `u = 1 - (x / resonance)^2`. Returns the slot (the index) of the
/// result.
fn remainder(b: &mut Builder, x: Slot, resonance: Slot) -> Slot {
    let one = b.number(1.0);
    let inverse = b.div(one, resonance);
    let ratio = b.mul(x, inverse);
    let square = b.mul(ratio, ratio);
    b.sub(one, square)
}

/// Appends to the program `b` the steps of an integrand. Returns the slot (the index) of the result. The variable of
/// integration `t` goes from 0 to 1. The integral of the integrand is equal to the integral of the density over
/// `lo..hi`, the two numbers in `ends`.
///
/// The observable `x` is replaced by `v = sqrt(1 - (x / resonance)^2)`, which is a linear function of `t`. The
/// integrand over `v` is `resonance^2 v^(2 power + 1) exp(slope v^2)`. Unlike the density, it has no square-root
/// singularity at the end of the spectrum.
pub(super) fn integrand(
    b: &mut Builder,
    t: Slot,
    [resonance, slope, power]: [Slot; 3],
    ends: (f64, f64),
) -> Slot {
    let zero = b.number(0.0);
    let root = |b: &mut Builder, x: f64| {
        let x = b.number(x);
        let u = remainder(b, x, resonance);
        let allowed = b.push(Step::Less(zero, u));
        let root = b.unary(Unary::Sqrt, u);
        b.push(Step::Select(allowed, root, zero))
    };
    let (from, to) = (root(b, ends.1), root(b, ends.0));
    let length = b.sub(to, from);
    let moved = b.mul(t, length);
    let v = b.add(from, moved);
    let one = b.number(1.0);
    let twice = b.scale(2.0, power);
    let exponent = b.add(twice, one);
    let power = b.pow(v, exponent);
    let square = b.mul(v, v);
    let exponent = b.mul(slope, square);
    let exponential = b.unary(Unary::Exp, exponent);
    let scale = b.mul(resonance, resonance);
    let scale = b.mul(scale, length);
    let value = b.mul(power, exponential);
    b.mul(scale, value)
}
