//! The Crystal Ball density with one width and its derivatives, computed for many events in one loop.
//!
//! The density is `exp(E)`. Let `t` be the distance from the mean in units of the width. In the core, `E = -t^2/2`. In
//! a tail, where `s = |t| > alpha`, `E = -alpha^2/2 - n ln u` with `u = 1 + (s - alpha) alpha / n`. First, the
//! derivatives of `E` with respect to `t`, `alpha` and `n` are computed without branches. The derivatives of the
//! density with respect to its variables are then computed from them.

use ns_core::{Density, Value};

use super::number::Number;
use crate::events::program::pair;
use crate::events::sums::{BLOCK, Column};
use crate::simd::{MulAdd, exp, isa_fn, ln};

/// Parameters of a Crystal Ball density. Its mean is variable 0, and its only width is variable 1.
#[derive(Debug, Clone, Copy)]
pub(in crate::events) struct Ball {
    pub(super) x: usize,
    /// `alpha` and `n` of the tail below the peak, and of the tail above the peak. `None` if there is no such tail.
    tails: [Option<(Number, Number)>; 2],
    pub(super) variables: usize,
}

impl Ball {
    /// Returns the kernel of a Crystal Ball density. Returns `None` for any other density, if the mean or width is
    /// constant, if there are two widths, or if two parameters are the same variable.
    pub(super) fn new(density: &Density) -> Option<Self> {
        let Density::CrystalBall { x, mean, sigma_left, sigma_right, left, right } = density else {
            return None;
        };
        let is_constant = |value: &Value| matches!(value, Value::Number(_));
        if sigma_left != sigma_right || mean == sigma_left || is_constant(mean) || is_constant(sigma_left) {
            return None;
        }
        let mut seen = vec![*mean, *sigma_left];
        let mut number = |value: Value| Number::new(value, &mut seen);
        let mut tails = [None; 2];
        for (to, tail) in tails.iter_mut().zip([left, right]) {
            if let Some(tail) = tail {
                *to = Some((number(tail.alpha)?, number(tail.n)?));
            }
        }
        Some(Self { x: *x, tails, variables: seen.len() })
    }
}

/// Derivatives of the exponent `E` for each event of a block. The density is `exp(E)`.
struct Exponent {
    t: Column,
    by_t: Column,
    by_tt: Column,
    by_alpha: Column,
    by_n: Column,
    t_alpha: Column,
    t_n: Column,
    alpha_alpha: Column,
    alpha_n: Column,
    n_n: Column,
    /// For the tail below the peak and the tail above it: 1 for events in the tail, 0 for all other events.
    inside: [Column; 2],
}

isa_fn! {
    /// Writes the density and its derivatives with respect to its variables for all events `x`. The variables are the
    /// mean, the width, and then the parameters of the tails.
    pub(super) fn run(ball: Ball, variables: &[f64], x: &[f64], out: &mut [f64]) = body
}

#[inline(always)]
fn body<M: MulAdd>(ball: Ball, variables: &[f64], x: &[f64], out: &mut [f64]) {
    let zero = [0.0; BLOCK];
    let mut e = Exponent {
        t: zero,
        by_t: zero,
        by_tt: zero,
        by_alpha: zero,
        by_n: zero,
        t_alpha: zero,
        t_n: zero,
        alpha_alpha: zero,
        alpha_n: zero,
        n_n: zero,
        inside: [zero; 2],
    };
    let mut value = zero;
    exponent::<M>(ball, variables, x, &mut value, &mut e);
    let inverse = 1.0 / variables[1];
    let d = ball.variables;
    // The derivatives of `t` with respect to mean and width are -1/sigma and -t/sigma.
    let (mut mean, mut sigma) = (zero, zero);
    for i in 0..BLOCK {
        mean[i] = -inverse * e.by_t[i];
        sigma[i] = mean[i] * e.t[i];
    }
    let square = inverse * inverse;
    put(out, 0, |i| value[i]);
    put(out, 1, |i| value[i] * mean[i]);
    put(out, 2, |i| value[i] * sigma[i]);
    put(out, pair(d, 0, 0), |i| value[i] * (square * e.by_tt[i] + mean[i] * mean[i]));
    put(out, pair(d, 1, 0), |i| value[i] * (square * (e.by_tt[i] * e.t[i] + e.by_t[i]) + mean[i] * sigma[i]));
    put(out, pair(d, 1, 1), |i| {
        let bend = square * e.t[i] * (e.by_tt[i] * e.t[i] + 2.0 * e.by_t[i]);
        value[i] * (bend + sigma[i] * sigma[i])
    });
    for (tail, inside) in ball.tails.iter().zip(&e.inside) {
        let Some((alpha, n)) = tail else { continue };
        let own = [
            (alpha.variable(), &e.by_alpha, &e.t_alpha, &e.alpha_alpha),
            (n.variable(), &e.by_n, &e.t_n, &e.n_n),
        ];
        for (variable, first, by_t, second) in own {
            let Some(v) = variable else { continue };
            let scale = |i: usize| value[i] * inside[i];
            put(out, 1 + v, |i| scale(i) * first[i]);
            put(out, pair(d, v, 0), |i| scale(i) * (first[i] * mean[i] - inverse * by_t[i]));
            put(out, pair(d, v, 1), |i| scale(i) * (first[i] * sigma[i] - inverse * e.t[i] * by_t[i]));
            put(out, pair(d, v, v), |i| scale(i) * (second[i] + first[i] * first[i]));
        }
        if let (Some(a), Some(b)) = (alpha.variable(), n.variable()) {
            put(out, pair(d, b, a), |i| value[i] * inside[i] * (e.alpha_n[i] + e.by_alpha[i] * e.by_n[i]));
        }
    }
}

/// Writes one component (value or derivative) for all events. `f` returns the number for an event.
#[inline(always)]
fn put(out: &mut [f64], component: usize, f: impl Fn(usize) -> f64) {
    for (i, to) in out[component * BLOCK..][..BLOCK].iter_mut().enumerate() {
        *to = f(i);
    }
}

/// Computes the density and the derivatives of its exponent `E` for each event.
#[inline(always)]
fn exponent<M: MulAdd>(ball: Ball, variables: &[f64], x: &[f64], value: &mut Column, e: &mut Exponent) {
    let (mean, inverse) = (variables[0], 1.0 / variables[1]);
    // A side without a tail gets a tail that begins beyond all events, and so has no effect.
    let tail = |side: usize| {
        ball.tails[side].map_or((f64::MAX, 1.0), |(alpha, n)| (alpha.at(variables), n.at(variables)))
    };
    let ((alpha_left, n_left), (alpha_right, n_right)) = (tail(0), tail(1));
    for (to, x) in e.t.iter_mut().zip(x) {
        *to = (x - mean) * inverse;
    }
    let [left, right] = &mut e.inside;
    for i in 0..BLOCK {
        let t = e.t[i];
        let below = -t > alpha_left;
        let above = t > alpha_right;
        let outside = below || above;
        left[i] = if below { 1.0 } else { 0.0 };
        right[i] = if above { 1.0 } else { 0.0 };
        let sign = if below { -1.0 } else { 1.0 };
        let alpha = if below { alpha_left } else { alpha_right };
        let n = if below { n_left } else { n_right };
        // In the core, `alpha` and `n` may be any finite numbers.
        let (alpha, n) = if outside { (alpha, n) } else { (1.0, 1.0) };
        let s = if outside { sign * t } else { 1.0 };
        let u = 1.0 + (s - alpha) * alpha / n;
        let r = 1.0 / u;
        let log = ln::<M>(u);
        let exponent = if outside { -0.5 * alpha * alpha - n * log } else { -0.5 * t * t };
        value[i] = exp::<M>(exponent);
        let inverse_n = 1.0 / n;
        let reach = s - 2.0 * alpha;
        let excess = u - 1.0;
        let bent = r * r * inverse_n;
        e.by_t[i] = if outside { -sign * alpha * r } else { -t };
        e.by_tt[i] = if outside { alpha * alpha * bent } else { -1.0 };
        e.by_alpha[i] = -alpha - reach * r;
        e.by_n[i] = -log + excess * r;
        e.t_alpha[i] = sign * (alpha * reach * bent - r);
        e.t_n[i] = -sign * alpha * excess * bent;
        e.alpha_alpha[i] = -1.0 + 2.0 * r + reach * reach * bent;
        e.alpha_n[i] = -reach * excess * bent;
        e.n_n[i] = excess * excess * bent;
    }
}
