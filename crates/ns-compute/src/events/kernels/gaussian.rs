//! The Gaussian density and its derivatives with respect to mean and width, computed for many events in one loop.

use crate::events::sums::BLOCK;
use crate::simd::{MulAdd, exp, isa_fn};

isa_fn! {
    /// Writes the density and its derivatives for all events `x`. The density is `p = exp(-t^2/2)` with
    /// `t = (x - mean) / sigma`. The first derivatives with respect to mean and width follow. The three second
    /// derivatives come last: twice by the mean, by mean and width, and twice by the width.
    pub(super) fn run(mean: f64, sigma: f64, x: &[f64], out: &mut [f64]) = body
}

#[inline(always)]
fn body<M: MulAdd>(mean: f64, sigma: f64, x: &[f64], out: &mut [f64]) {
    let n = x.len().min(BLOCK);
    let inverse = 1.0 / sigma;
    let (p, out) = out.split_at_mut(BLOCK);
    let (by_mean, out) = out.split_at_mut(BLOCK);
    let (by_sigma, out) = out.split_at_mut(BLOCK);
    let (mean_mean, out) = out.split_at_mut(BLOCK);
    let (mean_sigma, sigma_sigma) = out.split_at_mut(BLOCK);
    let (p, by_mean, by_sigma) = (&mut p[..n], &mut by_mean[..n], &mut by_sigma[..n]);
    let (mean_mean, mean_sigma) = (&mut mean_mean[..n], &mut mean_sigma[..n]);
    let (sigma_sigma, x) = (&mut sigma_sigma[..n], &x[..n]);
    for i in 0..n {
        let t = (x[i] - mean) * inverse;
        let square = t * t;
        let value = exp::<M>(-0.5 * square);
        let once = value * inverse;
        let twice = once * inverse;
        p[i] = value;
        by_mean[i] = once * t;
        by_sigma[i] = once * square;
        mean_mean[i] = twice * (square - 1.0);
        mean_sigma[i] = twice * t * (square - 2.0);
        sigma_sigma[i] = twice * square * (square - 3.0);
    }
}
