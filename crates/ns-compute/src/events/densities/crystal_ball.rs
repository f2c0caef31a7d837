//! Crystal Ball density: a Gaussian core with power-law tails.
//!
//! Let `t` be the distance from the mean in units of the width. In a tail, where `|t| > alpha`, the density is
//! `exp(-alpha^2/2) u^-n` with `u = 1 + (|t| - alpha) alpha / n`.

use super::gaussian;
use crate::events::program::{Binary, Builder, Slot, Step, Unary};

/// Slots (indices of results in a program) that contain the parameters of the density.
pub(super) struct Shape {
    mean: Slot,
    sides: [Side; 2],
}

/// Parameters of one side of the peak.
#[derive(Clone, Copy)]
struct Side {
    sigma: Slot,
    /// Slots (indices of results in a program) of `alpha` and `n` of the tail; `None` if this side has no tail.
    tail: Option<(Slot, Slot)>,
}

impl Shape {
    /// Returns the shape. `own` contains the slots (indices in a program) of the parameters, in the order of
    /// [`ns_core::Density::own_values`]. `left` and `right` are true if there is a tail on that side of the peak.
    /// Returns `None` if the number of slots does not fit.
    pub(super) fn new(own: &[Slot], left: bool, right: bool) -> Option<Self> {
        let (&[mean, sigma_left, sigma_right], tails) = own.split_first_chunk()?;
        let mut tails = tails.chunks_exact(2).map(|pair| (pair[0], pair[1]));
        let left = if left { Some(tails.next()?) } else { None };
        let right = if right { Some(tails.next()?) } else { None };
        Some(Self {
            mean,
            sides: [Side { sigma: sigma_left, tail: left }, Side { sigma: sigma_right, tail: right }],
        })
    }

    /// Appends to the program `b` the steps that compute the density at `x`. Returns the slot (the index) of the
    /// result.
    pub(super) fn value(&self, b: &mut Builder, x: Slot) -> Slot {
        let distance = b.sub(x, self.mean);
        let [left, right] = self.sides;
        let below = b.push(Step::Less(x, self.mean));
        let sigma = if left.sigma == right.sigma {
            left.sigma
        } else {
            b.push(Step::Select(below, left.sigma, right.sigma))
        };
        let one = b.number(1.0);
        let inverse = b.div(one, sigma);
        let t = b.mul(distance, inverse);
        let mut value = gaussian::core(b, t);
        for (side, sign) in [(left, -1.0), (right, 1.0)] {
            let Some((alpha, n)) = side.tail else { continue };
            let size = b.scale(sign, t);
            let in_tail = b.push(Step::Less(alpha, size));
            let u = stretch(b, size, alpha, n);
            let log = b.unary(Unary::Ln, u);
            let power = b.mul(n, log);
            let half = b.mul(alpha, alpha);
            let half = b.scale(0.5, half);
            let exponent = b.add(half, power);
            let exponent = b.scale(-1.0, exponent);
            let tail = b.unary(Unary::Exp, exponent);
            value = b.push(Step::Select(in_tail, tail, value));
        }
        value
    }

    /// Appends to the program `b` the steps that compute the integral of the density over `lo..hi`. Returns the slot
    /// (the index) of the result. The integral is a sum of up to four parts: the core and the tail on each side of the
    /// peak.
    pub(super) fn integral(&self, b: &mut Builder, (lo, hi): (f64, f64)) -> Slot {
        let (zero, lo, hi) = (b.number(0.0), b.number(lo), b.number(hi));
        let mut total = zero;
        for (side, sign) in self.sides.into_iter().zip([-1.0, 1.0]) {
            let one = b.number(1.0);
            let inverse = b.div(one, side.sigma);
            // Distances of the two limits from the peak on this side. The smaller distance comes first.
            let end = |b: &mut Builder, x: Slot| {
                let t = b.sub(x, self.mean);
                let t = b.mul(t, inverse);
                let t = b.scale(sign, t);
                b.max(t, zero)
            };
            let (near, far) = if sign < 0.0 { (end(b, hi), end(b, lo)) } else { (end(b, lo), end(b, hi)) };
            let area = match side.tail {
                None => b.push(Step::Binary(Binary::NormalIntegral, near, far)),
                Some((alpha, n)) => {
                    let (core_near, core_far) = (b.min(near, alpha), b.min(far, alpha));
                    let core = b.push(Step::Binary(Binary::NormalIntegral, core_near, core_far));
                    let (near, far) = (b.max(near, alpha), b.max(far, alpha));
                    let tail = tail_integral(b, near, far, alpha, n);
                    b.add(core, tail)
                }
            };
            let area = b.mul(side.sigma, area);
            total = b.add(total, area);
        }
        total
    }
}

/// Appends to the program `b` the steps that compute `u = 1 + (size - alpha) alpha / n` at the distance `size` from the
/// peak. Returns the slot (the index) of the result.
fn stretch(b: &mut Builder, size: Slot, alpha: Slot, n: Slot) -> Slot {
    let beyond = b.sub(size, alpha);
    let slope = b.div(alpha, n);
    let excess = b.mul(beyond, slope);
    let one = b.number(1.0);
    b.add(one, excess)
}

/// Appends to the program `b` the steps that compute the integral of a tail between the distances `near` and `far`.
/// Returns the slot (the index) of the result. Distances are counted from the peak, in units of the width. Both are at
/// least `alpha`.
///
/// The variable of integration is `u`, which [`stretch`] computes. It is `u_near` and `u_far` at the two distances,
/// and a distance `dt` corresponds to `n/alpha du`. The integral of `u^-n` over `u` is `u_near^(1-n) L D((n-1) L)`
/// with `L = ln(u_far/u_near)` and `D(z) = (1 - e^-z) / z`. This formula is also valid for `n = 1`.
fn tail_integral(b: &mut Builder, near: Slot, far: Slot, alpha: Slot, n: Slot) -> Slot {
    let (u_near, u_far) = (stretch(b, near, alpha, n), stretch(b, far, alpha, n));
    let (log_near, log_far) = (b.unary(Unary::Ln, u_near), b.unary(Unary::Ln, u_far));
    let length = b.sub(log_far, log_near);
    let one = b.number(1.0);
    let less = b.sub(n, one);
    let drop = b.mul(less, length);
    let mean = b.unary(Unary::Decay, drop);
    let half = b.mul(alpha, alpha);
    let half = b.scale(0.5, half);
    let start = b.mul(less, log_near);
    let exponent = b.add(half, start);
    let exponent = b.scale(-1.0, exponent);
    let height = b.unary(Unary::Exp, exponent);
    let width = b.div(n, alpha);
    let width = b.mul(width, length);
    let area = b.mul(height, mean);
    b.mul(area, width)
}
