//! The term of `-ln L` by which correlated Gaussian constraints differ from independent ones, for eight fits at a time.

use super::WIDTH;
use super::evaluate::{add_product, at, put};
use super::scratch::Scratch;
use crate::plan::Plan;
use crate::simd::{MulAdd, Vector};
use crate::terms::gaussian;

/// Adds the terms of correlations to the value, the noise (scale of the rounding errors) and the gradient of every lane (one
/// of eight fits). `theta` contains the parameters and `aux` the auxiliary data of the lanes.
#[inline(always)]
pub(super) fn add<M: MulAdd>(plan: &Plan, theta: &[f64], aux: &[f64], scratch: &mut Scratch) {
    let half = M::V8::splat(0.5);
    for own in plan.events.correlations() {
        for (i, (p, a, weight)) in own.constraints().enumerate() {
            let pull = gaussian::pull(at(theta, p), at(aux, a), M::V8::splat(weight));
            put(&mut scratch.pulls, i, pull);
        }
        let (mut value, mut noise) = (M::V8::load(&scratch.value), M::V8::load(&scratch.noise));
        for (i, (p, _, weight)) in own.constraints().enumerate() {
            let mut slope = M::V8::splat(0.0);
            for (j, &excess) in own.excess(i).iter().enumerate() {
                slope = at::<M::V8>(&scratch.pulls, j).mul_add(M::V8::splat(excess), slope);
            }
            let part = at::<M::V8>(&scratch.pulls, i).mul(slope).mul(half);
            value = value.add(part);
            noise = noise.add(part.abs());
            add_product(&mut scratch.gradient, p, slope, M::V8::splat(weight));
        }
        value.store(&mut scratch.value);
        noise.store(&mut scratch.noise);
    }
}

/// Derivatives of the term of correlations with respect to one of its parameters.
#[derive(Debug)]
pub(super) struct Coupling {
    /// For each parameter of the term, its index, the index of its auxiliary datum, and the second derivative with respect to it
    /// and the one parameter.
    others: Vec<(usize, usize, f64)>,
    /// Second derivative with respect to the one parameter.
    own: f64,
}

impl Coupling {
    /// Returns the derivatives with respect to `param`. Returns `None` if its constraint is independent of all others.
    pub(super) fn of(plan: &Plan, param: usize) -> Option<Self> {
        plan.events.correlations().iter().find_map(|term| {
            let (i, (_, _, weight)) = term.constraints().enumerate().find(|(_, own)| own.0 == param)?;
            let pairs = term.constraints().zip(term.excess(i));
            let others = pairs.map(|((p, a, other), excess)| (p, a, weight * other * excess)).collect();
            Some(Self { others, own: term.second(i, i) })
        })
    }

    /// Returns the rise of the term in every lane (one of eight fits) when the parameter moves by `step` from the point `theta`.
    #[inline(always)]
    pub(super) fn rise<M: MulAdd>(&self, step: M::V8, theta: &[f64], aux: &[f64]) -> M::V8 {
        let mut slope = step.mul(M::V8::splat(0.5 * self.own));
        for &(p, a, second) in &self.others {
            let away = at::<M::V8>(theta, p).sub(at(aux, a));
            slope = away.mul_add(M::V8::splat(second), slope);
        }
        slope.mul(step)
    }
}

/// Returns how many numbers the pulls of one term take at most.
pub(super) fn n_pulls(plan: &Plan) -> usize {
    let most = plan.events.correlations().iter().map(|own| own.len()).max();
    most.unwrap_or(0) * WIDTH
}
