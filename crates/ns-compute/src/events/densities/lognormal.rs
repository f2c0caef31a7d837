//! Log-normal density.

use super::gaussian;
use crate::events::program::{Binary, Builder, Slot, Step, Unary};

/// Appends to the program `b` the steps that compute the density. Returns the slot (the index) of the result. The
/// density is `exp(-(ln x - mu)^2 / (2 sigma^2)) / x`, and 0 where `x` is not positive.
pub(super) fn value(b: &mut Builder, x: Slot, mu: Slot, sigma: Slot) -> Slot {
    let zero = b.number(0.0);
    let allowed = b.push(Step::Less(zero, x));
    let log = b.unary(Unary::Ln, x);
    let core = gaussian::value(b, log, mu, sigma);
    let inverse = b.unary(Unary::Reciprocal, x);
    let value = b.mul(core, inverse);
    b.push(Step::Select(allowed, value, zero))
}

/// Appends to the program `b` the steps that compute the integral of the density over `lo..hi`. Returns the slot (the
/// index) of the result.
pub(super) fn integral(b: &mut Builder, mu: Slot, sigma: Slot, (lo, hi): (f64, f64)) -> Slot {
    // Limits below 1e-300 are replaced by 1e-300, because their logarithm must be finite.
    let end = |b: &mut Builder, x: f64| {
        let log = b.number(x.max(1e-300).ln());
        gaussian::pull(b, log, mu, sigma)
    };
    let (from, to) = (end(b, lo), end(b, hi));
    let area = b.push(Step::Binary(Binary::NormalIntegral, from, to));
    b.mul(sigma, area)
}
