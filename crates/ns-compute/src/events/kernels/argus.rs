//! The Argus density and its derivatives, computed for many events in one loop.
//!
//! The density is `exp(E)` with `E = ln x + power ln u + slope u` and `u = 1 - (x / resonance)^2`, and 0 where `u` is
//! not positive. The derivatives of `E` give the derivatives of the density.

use ns_core::{Density, Value};

use super::number::Number;
use crate::events::program::pair;
use crate::events::sums::{BLOCK, Column};
use crate::simd::{MulAdd, exp, isa_fn, ln};

/// Parameters of an Argus density.
#[derive(Debug, Clone, Copy)]
pub(in crate::events) struct Argus {
    pub(super) x: usize,
    resonance: Number,
    slope: Number,
    power: Number,
    pub(super) variables: usize,
}

impl Argus {
    /// Returns the kernel of an Argus density. Returns `None` for any other density, or if two parameters are the
    /// same variable.
    pub(super) fn new(density: &Density) -> Option<Self> {
        let Density::Argus { x, resonance, slope, power } = density else { return None };
        let mut seen: Vec<Value> = Vec::new();
        let mut number = |value: &Value| Number::new(*value, &mut seen);
        let (resonance, slope, power) = (number(resonance)?, number(slope)?, number(power)?);
        Some(Self { x: *x, resonance, slope, power, variables: seen.len() })
    }
}

isa_fn! {
    /// Writes the density and its derivatives with respect to its variables for all events `x`. The variables are in
    /// the order resonance, slope, power. Constant parameters are not variables.
    pub(super) fn run(argus: Argus, variables: &[f64], x: &[f64], out: &mut [f64]) = body
}

#[inline(always)]
fn body<M: MulAdd>(argus: Argus, variables: &[f64], x: &[f64], out: &mut [f64]) {
    let (resonance, slope) = (argus.resonance.at(variables), argus.slope.at(variables));
    let inverse = 1.0 / resonance;
    let zero = [0.0; BLOCK];
    let (mut u, mut allowed, mut value) = (zero, zero, zero);
    let n = x.len().min(BLOCK);
    let mut place = zero;
    place[..n].copy_from_slice(&x[..n]);
    for i in 0..BLOCK {
        let ratio = place[i] * inverse;
        let rest = 1.0 - ratio * ratio;
        allowed[i] = if rest > 0.0 { 1.0 } else { 0.0 };
        // Where the density is 0, any positive finite number may replace `u`.
        u[i] = if rest > 0.0 { rest } else { 1.0 };
    }
    match argus.power {
        // The most common power is 1/2. A square root computes it.
        Number::Constant(0.5) => {
            for i in 0..BLOCK {
                value[i] = allowed[i] * place[i] * u[i].sqrt() * exp::<M>(slope * u[i]);
            }
        }
        power => {
            let power = power.at(variables);
            for i in 0..BLOCK {
                value[i] = allowed[i] * place[i] * exp::<M>(M::mul_add(slope, u[i], power * ln::<M>(u[i])));
            }
        }
    }
    put(out, 0, |i| value[i]);
    let d = argus.variables;
    if let Some(s) = argus.slope.variable() {
        put(out, 1 + s, |i| value[i] * u[i]);
        put(out, pair(d, s, s), |i| value[i] * u[i] * u[i]);
    }
    if let Some(p) = argus.power.variable() {
        let mut log = zero;
        for i in 0..BLOCK {
            log[i] = ln::<M>(u[i]);
        }
        put(out, 1 + p, |i| value[i] * log[i]);
        put(out, pair(d, p, p), |i| value[i] * log[i] * log[i]);
        if let Some(s) = argus.slope.variable() {
            put(out, pair(d, p, s), |i| value[i] * log[i] * u[i]);
        }
    }
    if argus.resonance.variable().is_some() {
        by_resonance::<M>(argus, variables, (&place, &u, &value), out);
    }
}

/// Writes the derivatives with respect to the parameter `resonance`, for all events.
#[inline(always)]
fn by_resonance<M: MulAdd>(
    argus: Argus,
    variables: &[f64],
    (x, u, value): (&Column, &Column, &Column),
    out: &mut [f64],
) {
    let Some(r) = argus.resonance.variable() else { return };
    let (slope, power, d) = (argus.slope.at(variables), argus.power.at(variables), argus.variables);
    let inverse = 1.0 / variables[r];
    let zero = [0.0; BLOCK];
    // Derivatives of `u` and of `ln u`, and the first and second derivatives of `E`.
    let (mut of_u, mut of_log, mut first, mut second) = (zero, zero, zero, zero);
    for i in 0..BLOCK {
        let ratio = x[i] * inverse;
        let inverse_u = 1.0 / u[i];
        of_u[i] = 2.0 * ratio * ratio * inverse;
        of_log[i] = of_u[i] * inverse_u;
        let steepness = M::mul_add(power, inverse_u, slope);
        first[i] = of_u[i] * steepness;
        second[i] = -3.0 * inverse * first[i] - power * of_log[i] * of_log[i];
    }
    put(out, 1 + r, |i| value[i] * first[i]);
    put(out, pair(d, r, r), |i| value[i] * (second[i] + first[i] * first[i]));
    if let Some(s) = argus.slope.variable() {
        put(out, pair(d, s, r), |i| value[i] * (of_u[i] + first[i] * u[i]));
    }
    if let Some(p) = argus.power.variable() {
        put(out, pair(d, p, r), |i| value[i] * (of_log[i] + first[i] * ln::<M>(u[i])));
    }
}

/// Writes one component (value or derivative) for all events. `f` returns the number for an event.
#[inline(always)]
fn put(out: &mut [f64], component: usize, f: impl Fn(usize) -> f64) {
    for (i, to) in out[component * BLOCK..][..BLOCK].iter_mut().enumerate() {
        *to = f(i);
    }
}
