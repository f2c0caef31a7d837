//! Decays, convolved with their resolution by a Gauss-Legendre rule, and densities at given observables.

use ns_core::{Decay, DecaySides, Density, Given, Op, Oscillation, Smearing, Tape, Value};

use super::legendre;

/// Half of the range of the resolution, in units of its width.
const RANGE: f64 = 9.0;

/// Returns the decay at the measured time `t`, before normalisation.
pub(super) fn decay(of: &Decay, t: f64, q: &dyn Fn(Value) -> f64) -> f64 {
    if of.resolution.is_empty() {
        return exact(of, t, q);
    }
    let given: Vec<f64> = of.fractions.iter().map(|f| q(*f)).collect();
    let total: f64 = given.iter().sum();
    let share = |i: usize| match given.get(i) {
        Some(f) if given.len() == of.resolution.len() => f / total,
        Some(f) => *f,
        None => 1.0 - total,
    };
    let rule = legendre();
    let term = |(i, one): (usize, &Smearing)| {
        let (mean, sigma) = (q(one.mean), q(one.sigma));
        // The decay jumps where the true time is 0.
        let jump = ((t - mean) / sigma).clamp(-RANGE, RANGE);
        let mut sum = 0.0;
        for (lo, hi) in [(-RANGE, jump), (jump, RANGE)] {
            let panels = ((hi - lo) / 3.0).ceil().max(1.0) as usize;
            let half = 0.5 * (hi - lo) / panels as f64;
            for panel in 0..panels {
                let centre = lo + (2.0 * panel as f64 + 1.0) * half;
                for (x, weight) in &rule {
                    let v = centre + half * x;
                    sum += half * weight * (-0.5 * v * v).exp() * exact(of, t - mean - sigma * v, q);
                }
            }
        }
        share(i) * sum
    };
    of.resolution.iter().enumerate().map(term).sum()
}

fn exact(of: &Decay, t: f64, q: &dyn Fn(Value) -> f64) -> f64 {
    let exists = match of.sides {
        DecaySides::After => t >= 0.0,
        DecaySides::Before => t <= 0.0,
        DecaySides::Both => true,
    };
    if !exists {
        return 0.0;
    }
    let wave = of.oscillation.map_or(1.0, |o| {
        let (slow, fast) = (0.5 * q(o.delta_gamma) * t, q(o.delta_m) * t);
        q(o.cosh) * slow.cosh() + q(o.sinh) * slow.sinh() + q(o.cos) * fast.cos() + q(o.sin) * fast.sin()
    });
    (-t.abs() / q(of.tau)).exp() * wave
}

/// Returns the density at an event with numbers in place of its parameters.
pub(super) fn at_event(given: &Given, event: &[f64], q: &dyn Fn(Value) -> f64) -> Density {
    let values: Vec<Value> = given
        .density
        .own_values()
        .into_iter()
        .zip(&given.arguments)
        .map(|(value, tape)| {
            Value::Number(tape.as_ref().map_or_else(|| q(value), |tape| evaluate(tape, event, q)))
        })
        .collect();
    match &given.density {
        Density::Gaussian { x, .. } => Density::Gaussian { x: *x, mean: values[0], sigma: values[1] },
        Density::Exponential { x, .. } => Density::Exponential { x: *x, slope: values[0] },
        Density::Decay(of) => {
            let mut next = values.into_iter();
            let mut take = || next.next().unwrap();
            let tau = take();
            let oscillation = of.oscillation.map(|_| Oscillation {
                delta_gamma: take(),
                delta_m: take(),
                cosh: take(),
                sinh: take(),
                cos: take(),
                sin: take(),
            });
            let fractions = of.fractions.iter().map(|_| take()).collect();
            let resolution = of.resolution.iter().map(|_| Smearing { mean: take(), sigma: take() }).collect();
            Density::Decay(Box::new(Decay {
                t: of.t,
                sides: of.sides,
                tau,
                oscillation,
                resolution,
                fractions,
            }))
        }
        other => panic!("the oracle does not know {} at given observables", other.type_name()),
    }
}

fn evaluate(tape: &Tape, event: &[f64], q: &dyn Fn(Value) -> f64) -> f64 {
    let mut results: Vec<f64> = Vec::new();
    for op in tape.ops() {
        results.push(match *op {
            Op::Number(x) => x,
            Op::Value(value) => q(value),
            Op::Observable(x) => event[x],
            Op::Add(a, b) => results[a] + results[b],
            Op::Mul(a, b) => results[a] * results[b],
            ref other => panic!("the oracle does not know {other:?}"),
        });
    }
    results[results.len() - 1]
}
