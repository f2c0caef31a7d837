//! The exponential density and its derivatives with respect to the slope, computed for many events in one loop.

use crate::events::sums::BLOCK;
use crate::simd::{MulAdd, exp, isa_fn};

isa_fn! {
    /// Writes `p = exp(-slope (x - origin))` and its first and second derivatives with respect to the slope, for all
    /// events `x`.
    pub(super) fn run(slope: f64, origin: f64, x: &[f64], out: &mut [f64]) = body
}

#[inline(always)]
fn body<M: MulAdd>(slope: f64, origin: f64, x: &[f64], out: &mut [f64]) {
    let n = x.len().min(BLOCK);
    let (p, out) = out.split_at_mut(BLOCK);
    let (first, second) = out.split_at_mut(BLOCK);
    let (p, first, second, x) = (&mut p[..n], &mut first[..n], &mut second[..n], &x[..n]);
    for i in 0..n {
        let distance = x[i] - origin;
        let value = exp::<M>(-slope * distance);
        let moved = -distance * value;
        p[i] = value;
        first[i] = moved;
        second[i] = -distance * moved;
    }
}
