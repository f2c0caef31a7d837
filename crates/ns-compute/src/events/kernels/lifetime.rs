//! A decay whose time has a Gaussian error of each event, normalised at given errors, with its derivatives, computed for many
//! events in one loop.
//!
//! With `u = (t - mean) / sigma` and `c = rate sigma` the density is `rate A / B`, where `A` is the smeared decay `F(u, c)`, and
//! `B` the difference of `G(u, c) = Phi(u) - F(u, c)` at the ends of the range; `Phi` is the integral of the normal density.
//! For decays before 0 the signs of all `u` change; for decays on both sides `A` and `B` are sums over them.

use ns_core::{Decay, DecaySides, Density, Given, Op, Tape, Value};

use super::number::Number;
use crate::events::densities::Space;
use crate::events::program::pair;
use crate::events::special::{erfcx, smeared_decay};
use crate::events::sums::{BLOCK, Column};
use crate::simd::{MulAdd, exp, isa_fn};

/// The number of derivatives with respect to rate, mean and width, and the value.
const SIZE: usize = 10;

/// A parameter times a constant, and times an observable if there is one.
#[derive(Debug, Clone, Copy)]
struct Scaled {
    value: Number,
    factor: f64,
    observable: Option<usize>,
}

impl Scaled {
    /// Returns the number for a parameter or for the expression that replaces it. Returns `None` if the expression is not a
    /// product of constants, at most one parameter and at most one observable.
    fn new(value: Value, tape: Option<&Tape>, seen: &mut Vec<Value>) -> Option<Self> {
        let Some(tape) = tape else {
            return Some(Self { value: Number::new(value, seen)?, factor: 1.0, observable: None });
        };
        // Constant, parameter and observable of each result.
        let mut results: Vec<(f64, Option<Value>, Option<usize>)> = Vec::new();
        for op in tape.ops() {
            results.push(match *op {
                Op::Number(x) | Op::Value(Value::Number(x)) => (x, None, None),
                Op::Value(value) => (1.0, Some(value), None),
                Op::Observable(x) => (1.0, None, Some(x)),
                Op::Mul(a, b) => {
                    let (a, b) = (results.get(a)?, results.get(b)?);
                    if (a.1.is_some() && b.1.is_some()) || (a.2.is_some() && b.2.is_some()) {
                        return None;
                    }
                    (a.0 * b.0, a.1.or(b.1), a.2.or(b.2))
                }
                _ => return None,
            });
        }
        let (factor, value, observable) = *results.last()?;
        Some(Self { value: Number::new(value.unwrap_or(Value::Number(1.0)), seen)?, factor, observable })
    }

    /// Writes the factor of the parameter for each event.
    fn fill(&self, columns: &[&[f64]], (from, n): (usize, usize), out: &mut Column) {
        match self.observable {
            None => out[..n].fill(self.factor),
            Some(x) => {
                for (to, from) in out[..n].iter_mut().zip(&columns[x][from..from + n]) {
                    *to = self.factor * from;
                }
            }
        }
    }
}

/// A decay with one Gaussian resolution, at given values of other observables.
#[derive(Debug, Clone, Copy)]
pub(in crate::events) struct Lifetime {
    t: usize,
    ends: (f64, f64),
    sides: DecaySides,
    tau: Number,
    mean: Scaled,
    sigma: Scaled,
    pub(super) variables: usize,
}

impl Lifetime {
    /// Returns the kernel of a density. Returns `None` if the density is none of this kind, has several fit ranges, or if two
    /// parameters are the same variable.
    pub(super) fn new(density: &Density, space: Space<'_>) -> Option<Self> {
        let Density::Given(given) = density else { return None };
        let Given { density: Density::Decay(decay), arguments } = given.as_ref() else { return None };
        let Decay { t, tau, sides, oscillation: None, resolution, fractions } = decay.as_ref() else {
            return None;
        };
        let ([one], true) = (resolution.as_slice(), fractions.is_empty()) else { return None };
        let [None, mean, sigma] = arguments.as_slice() else { return None };
        let all = space.sides(&[*t])?;
        let [sides_of_t] = all.as_slice() else { return None };
        let &[ends] = sides_of_t.as_slice() else { return None };
        let mut seen = Vec::new();
        let tau = Number::new(*tau, &mut seen)?;
        let mean = Scaled::new(one.mean, mean.as_ref(), &mut seen)?;
        let sigma = Scaled::new(one.sigma, sigma.as_ref(), &mut seen)?;
        Some(Self { t: *t, ends, sides: *sides, tau, mean, sigma, variables: seen.len() })
    }
}

/// What the loop reads: the times, and mean and width of the resolution of each event.
struct Inputs<'a> {
    t: &'a [f64],
    ends: (f64, f64),
    rate: f64,
    mean: Column,
    sigma: Column,
}

isa_fn! {
    /// Writes the density and its derivatives with respect to its variables for the events `from..from + n`.
    pub(super) fn run(kernel: Lifetime, variables: &[f64], columns: &[&[f64]], place: (usize, usize), out: &mut [f64]) = body
}

#[inline(always)]
fn body<M: MulAdd>(
    kernel: Lifetime,
    variables: &[f64],
    columns: &[&[f64]],
    (from, n): (usize, usize),
    out: &mut [f64],
) {
    let n = n.min(BLOCK);
    let (mut by_mean, mut by_sigma) = ([0.0; BLOCK], [0.0; BLOCK]);
    kernel.mean.fill(columns, (from, n), &mut by_mean);
    kernel.sigma.fill(columns, (from, n), &mut by_sigma);
    let (mean, sigma) = (kernel.mean.value.at(variables), kernel.sigma.value.at(variables));
    let rate = 1.0 / kernel.tau.at(variables);
    let inputs = Inputs {
        t: &columns[kernel.t][from..from + n],
        ends: kernel.ends,
        rate,
        mean: by_mean.map(|factor| factor * mean),
        sigma: by_sigma.map(|factor| factor * sigma),
    };
    let mut found = [[0.0; BLOCK]; SIZE];
    match kernel.sides {
        DecaySides::After => densities::<M, false>(&inputs, 1.0, &mut found),
        DecaySides::Before => densities::<M, false>(&inputs, -1.0, &mut found),
        DecaySides::Both => densities::<M, true>(&inputs, 1.0, &mut found),
    }
    out[..n].copy_from_slice(&found[0][..n]);
    // The derivatives of rate, mean and width with respect to the variables.
    let slope = [-rate * rate; BLOCK];
    let own = [
        (kernel.tau.variable(), &slope),
        (kernel.mean.value.variable(), &by_mean),
        (kernel.sigma.value.variable(), &by_sigma),
    ];
    let d = kernel.variables;
    for (i, (v, by_v)) in own.iter().enumerate() {
        let Some(v) = *v else { continue };
        let to = &mut out[(1 + v) * BLOCK..][..n];
        for k in 0..n {
            to[k] = found[1 + i][k] * by_v[k];
        }
        for (j, (w, by_w)) in own[..=i].iter().enumerate() {
            let Some(w) = *w else { continue };
            let second = &found[pair(3, i, j)];
            // The mean life is the only parameter whose function is not linear.
            let bend = if i == 0 { 2.0 * rate * rate * rate } else { 0.0 };
            let to = &mut out[pair(d, v, w) * BLOCK..][..n];
            for k in 0..n {
                to[k] = second[k] * by_v[k] * by_w[k] + bend * found[1][k];
            }
        }
    }
}

/// Writes the density and its derivatives with respect to rate, mean and width.
#[inline(always)]
fn densities<M: MulAdd, const BOTH: bool>(inputs: &Inputs<'_>, sign: f64, out: &mut [Column; SIZE]) {
    let n = inputs.t.len().min(BLOCK);
    let (rate, t) = (inputs.rate, &inputs.t[..n]);
    let [v0, v1, v2, v3, v4, v5, v6, v7, v8, v9] = out;
    for i in 0..n {
        let (mean, sigma) = (inputs.mean[i], inputs.sigma[i]);
        let one = side::<M>((t[i], inputs.ends), (rate, mean, sigma), sign);
        let (mut above, mut below) = one;
        if BOTH {
            let (a, b) = side::<M>((t[i], inputs.ends), (rate, mean, sigma), -sign);
            for k in 0..SIZE {
                above[k] += a[k];
                below[k] += b[k];
            }
        }
        // The density is `A` times `q = rate / B`.
        let inverse = 1.0 / below[0];
        let q = [1.0 / rate - below[1] * inverse, -below[2] * inverse, -below[3] * inverse];
        let factor = rate * inverse;
        let bend = |a: usize, b: usize, c: usize| {
            let own = if c == pair(3, 0, 0) { -1.0 / (rate * rate) } else { 0.0 };
            let (qa, qb) = (q[a], q[b]);
            let product = below[1 + a] * inverse * below[1 + b] * inverse;
            let log = own - below[c] * inverse + product;
            factor * (above[c] + above[1 + a] * qb + above[1 + b] * qa + above[0] * (log + qa * qb))
        };
        v0[i] = factor * above[0];
        v1[i] = factor * (above[1] + above[0] * q[0]);
        v2[i] = factor * (above[2] + above[0] * q[1]);
        v3[i] = factor * (above[3] + above[0] * q[2]);
        v4[i] = bend(0, 0, 4);
        v5[i] = bend(1, 0, 5);
        v6[i] = bend(1, 1, 6);
        v7[i] = bend(2, 0, 7);
        v8[i] = bend(2, 1, 8);
        v9[i] = bend(2, 2, 9);
    }
}

/// Returns `A` and `B` of one side with their derivatives with respect to rate, mean and width.
#[inline(always)]
fn side<M: MulAdd>(
    (t, (lo, hi)): (f64, (f64, f64)),
    (rate, mean, sigma): (f64, f64, f64),
    sign: f64,
) -> ([f64; SIZE], [f64; SIZE]) {
    let r = sign / sigma;
    let c = rate * sigma;
    let u = (t - mean) * r;
    let (at_lo, at_hi) = ((lo - mean) * r, (hi - mean) * r);
    let (from, to) = if sign > 0.0 { (at_lo, at_hi) } else { (at_hi, at_lo) };
    let above = chain(smeared_decay::<M>(u, c, exp::<M>), u, (r, rate, sigma));
    let (start, start_tail) = end::<M>(from, c, (r, rate, sigma));
    let (stop, stop_tail) = end::<M>(to, c, (r, rate, sigma));
    let mut below = [0.0; SIZE];
    for k in 1..SIZE {
        below[k] = stop[k] - start[k];
    }
    let normal = if from > 0.0 {
        start_tail - stop_tail
    } else if to < 0.0 {
        stop_tail - start_tail
    } else {
        1.0 - start_tail - stop_tail
    };
    below[0] = normal + (start[0] - stop[0]);
    (above, below)
}

/// Returns at an end of the range the derivatives of `G` with respect to rate, mean and width, after the value of `F`, and the
/// integral of the normal density beyond the distance `|u|`.
#[inline(always)]
fn end<M: MulAdd>(u: f64, c: f64, numbers: (f64, f64, f64)) -> ([f64; SIZE], f64) {
    let [f, by_u, by_c, _, _, by_cc] = smeared_decay::<M>(u, c, exp::<M>);
    let derivatives = [f, c * f, -by_c, c * by_u, f + c * by_c, -by_cc];
    let tail = 0.5 * exp::<M>(-0.5 * u * u) * erfcx::<M>(u.abs() * std::f64::consts::FRAC_1_SQRT_2);
    (chain(derivatives, u, numbers), tail)
}

/// Returns the derivatives of a function of `u` and `c` with respect to rate, mean and width, after its value. `r` is the
/// derivative of `u` with respect to the time.
#[inline(always)]
fn chain(
    [value, by_u, by_c, uu, uc, cc]: [f64; 6],
    u: f64,
    (r, rate, sigma): (f64, f64, f64),
) -> [f64; SIZE] {
    let inverse = 1.0 / sigma;
    let (u_mean, u_sigma) = (-r, -u * inverse);
    let (u_mean_sigma, u_sigma_sigma) = (r * inverse, 2.0 * u * inverse * inverse);
    [
        value,
        by_c * sigma,
        by_u * u_mean,
        by_u * u_sigma + by_c * rate,
        cc * sigma * sigma,
        uc * u_mean * sigma,
        uu * u_mean * u_mean,
        by_c + sigma * (cc * rate + uc * u_sigma),
        u_mean * (uu * u_sigma + uc * rate) + by_u * u_mean_sigma,
        uu * u_sigma * u_sigma + rate * (2.0 * uc * u_sigma + cc * rate) + by_u * u_sigma_sigma,
    ]
}
