//! The state of eight simultaneous fits, and the functions that change it.

use super::WIDTH;
use super::derivatives::Derivatives;
use super::evaluate::{add_product, at, put};
use super::scratch::Scratch;
use crate::plan::Plan;
use crate::shared_constants::{LEAST_COMPONENT, LEAST_PAIR_CURVATURE, LEFT_BY_A_STEP, PAIRS};
use crate::simd::{MulAdd, Vector, isa_fn};

/// The state of eight fits between evaluations, one fit per SIMD lane. The order of the elements is described in the
/// module `scratch`.
#[derive(Debug)]
pub(super) struct Group {
    /// Counts of the main bins in each fit.
    pub(super) main: Vec<f64>,
    /// Auxiliary data of each fit.
    pub(super) aux: Vec<f64>,
    /// Last accepted point of each fit.
    pub(super) theta: Vec<f64>,
    /// Gradient of `-ln L` at the accepted point of each fit. It is zero for parameters that are held at a bound.
    pub(super) slope: Vec<f64>,
    /// Weight of each bin in the metric, at the accepted point of each fit.
    pub(super) weight: Vec<f64>,
    /// Derivative of the expected yield with respect to each per-bin factor, at the accepted point of each fit.
    pub(super) reaction: Vec<f64>,
    /// Derivatives of the expected yields at the accepted points of the fits. `None` in models whose metric does not
    /// use [`Derivatives`].
    pub(super) derivatives: Option<Derivatives>,
    /// Trial point of each fit.
    pub(super) trial: Vec<f64>,
    /// Search direction of each fit.
    pub(super) direction: Vec<f64>,
    /// For each parameter and lane, 1 if the lane (one of the eight fits) holds the parameter at a bound, and 0
    /// otherwise.
    pub(super) held: Vec<f64>,
    /// For each lane (one of eight fits), the number of parameters that the last call of [`absorb`] newly held at a
    /// bound, or newly released.
    pub(super) turned: [f64; WIDTH],
    /// For each lane (one of the eight fits), the scalar product of `slope` and `direction`.
    pub(super) descent: [f64; WIDTH],
    /// For each fit, the vector that is multiplied by the inverse metric, with one number per parameter.
    pub(super) from: Vec<f64>,
    /// For each fit, the product of the inverse metric and `from`, with one number per parameter.
    pub(super) to: Vec<f64>,
    /// First part of the BFGS pairs: the change of the point in each of the last steps.
    steps: Vec<f64>,
    /// Second part of the BFGS pairs: the change of the slope in each of the last steps.
    changes: Vec<f64>,
    /// `1 / (s y)` of each pair of a step `s` and a change of the slope `y`; 0 if the pair is not used.
    inverse: [[f64; WIDTH]; PAIRS],
    /// For each lane (one of the eight fits), 1 if the BFGS pairs correct the metric, and 0 otherwise. If the metric
    /// alone leads to fast convergence, the pairs are not used: they come from other points and would slow the descent
    /// down.
    pub(super) corrects: [f64; WIDTH],
    /// Coefficients that the first half of the BFGS recursion computes and the second half uses.
    weights: [[f64; WIDTH]; PAIRS],
    /// Index at which the next BFGS pair is stored. It replaces the oldest pair.
    next: usize,
    /// Length of an array with one element per parameter and lane (one of the eight fits).
    size: usize,
}

impl Group {
    /// Allocates the state of eight fits.
    pub(super) fn new(plan: &Plan, derivatives: Option<Derivatives>) -> Self {
        let n = plan.n_parameters() * WIDTH;
        let bins = plan.n_bins() * WIDTH;
        Self {
            main: vec![0.0; bins],
            aux: vec![0.0; plan.n_aux() * WIDTH],
            theta: vec![0.0; n],
            slope: vec![0.0; n],
            weight: vec![1.0; bins],
            reaction: vec![0.0; n],
            derivatives,
            trial: vec![0.0; n],
            direction: vec![0.0; n],
            held: vec![0.0; n],
            turned: [0.0; WIDTH],
            descent: [0.0; WIDTH],
            from: vec![0.0; n],
            to: vec![0.0; n],
            steps: vec![0.0; n * PAIRS],
            changes: vec![0.0; n * PAIRS],
            inverse: [[0.0; WIDTH]; PAIRS],
            corrects: [0.0; WIDTH],
            weights: [[0.0; WIDTH]; PAIRS],
            next: 0,
            size: n,
        }
    }

    /// Returns `1 / (s y)` of the BFGS pair with index `slot` for each lane (one of eight fits) that uses this pair,
    /// and 0 for other lanes. Returns `None` if no lane uses the pair.
    fn used(&self, slot: usize) -> Option<[f64; WIDTH]> {
        let mut inverse = self.inverse[slot];
        for (inverse, corrects) in inverse.iter_mut().zip(&self.corrects) {
            *inverse *= corrects;
        }
        (inverse != [0.0; WIDTH]).then_some(inverse)
    }

    /// Removes the BFGS pairs of one lane (one of the eight fits).
    pub(super) fn forget(&mut self, lane: usize) {
        for inverse in &mut self.inverse {
            inverse[lane] = 0.0;
        }
    }

    /// Removes the BFGS pairs of one lane (one of the eight fits) and overwrites them with zeros. Otherwise numbers
    /// that are not finite would affect the next fit in this lane, even when they are multiplied by 0.
    pub(super) fn clear(&mut self, lane: usize) {
        self.forget(lane);
        for numbers in [&mut self.steps, &mut self.changes] {
            numbers.iter_mut().skip(lane).step_by(WIDTH).for_each(|x| *x = 0.0);
        }
    }
}

/// The bounds of all parameters in a fit.
#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    pub(crate) lower: Vec<f64>,
    pub(crate) upper: Vec<f64>,
    /// For each parameter, whether it has a Poisson constraint. The constraint term rises like a logarithm when the
    /// parameter approaches 0. Therefore no step reduces the parameter to less than a tenth of its value.
    pub(super) barrier: Vec<bool>,
}

isa_fn! {
    /// For each lane (one of eight fits) in which `accept` is 1, replaces the accepted point by the trial point. `here`
    /// contains the evaluation at the trial points. The function finds the parameters that are held at bounds and sets
    /// the slope. It stores the step and the change of the slope as a BFGS pair, except in lanes in which `fresh` is 1,
    /// whose trial point is the starting point.
    pub(super) fn absorb(free: &[usize], bounds: &Bounds, here: &mut Scratch, accept: &[f64; WIDTH], fresh: &[f64; WIDTH], group: &mut Group) = absorb_body
}

#[inline(always)]
fn absorb_body<M: MulAdd>(
    free: &[usize],
    bounds: &Bounds,
    here: &mut Scratch,
    accept: &[f64; WIDTH],
    fresh: &[f64; WIDTH],
    group: &mut Group,
) {
    let splat = M::V8::splat;
    let (zero, one, half) = (splat(0.0), splat(1.0), splat(0.5));
    let (accept, fresh) = (M::V8::load(accept), M::V8::load(fresh));
    let pair = half.below(fresh, zero, accept);
    let slot = group.next;
    group.next = (slot + 1) % PAIRS;
    let steps = &mut group.steps[slot * group.size..(slot + 1) * group.size];
    let changes = &mut group.changes[slot * group.size..(slot + 1) * group.size];
    let (mut curve, mut length, mut turned) = (zero, zero, zero);
    for &p in free {
        let (old, new): (M::V8, M::V8) = (at(&group.theta, p), at(&group.trial, p));
        let (before, gradient): (M::V8, M::V8) = (at(&group.slope, p), at(&here.gradient, p));
        let was: M::V8 = at(&group.held, p);
        // A parameter that was held at a bound has not moved, and its slope was set to zero.
        let change = half.below(was, zero, gradient.sub(before));
        let (step, change) = (half.below(pair, new.sub(old), zero), half.below(pair, change, zero));
        put(steps, p, step);
        put(changes, p, change);
        curve = step.mul_add(change, curve);
        length = change.mul_add(change, length);
        let theta = half.below(accept, new, old);
        put(&mut group.theta, p, theta);
        // A parameter is held if it is at a bound beyond which `-ln L` falls.
        let (lower, upper) = (splat(bounds.lower[p]), splat(bounds.upper[p]));
        let at_lower = lower.below(theta, zero, zero.below(gradient, one, zero));
        let at_upper = theta.below(upper, zero, gradient.below(zero, one, zero));
        let held = half.below(accept, at_lower.add(at_upper), was);
        put(&mut group.held, p, held);
        let differs = held.sub(was);
        turned = differs.mul_add(differs, turned);
        let slope = half.below(held, zero, gradient);
        put(&mut group.slope, p, half.below(accept, slope, before));
        let kept: M::V8 = at(&group.reaction, p);
        put(&mut group.reaction, p, half.below(accept, at(&here.reaction, p), kept));
    }
    if let (Some(kept), Some(new)) = (&mut group.derivatives, &mut here.derivatives) {
        if accept.sum() == WIDTH as f64 {
            // The next evaluation overwrites all of `new`.
            std::mem::swap(&mut kept.rows, &mut new.rows);
            std::mem::swap(&mut kept.second, &mut new.second);
        } else {
            for (kept, new) in [(&mut kept.rows, &new.rows), (&mut kept.second, &new.second)] {
                for i in 0..new.len() / WIDTH {
                    let old: M::V8 = at(kept, i);
                    put(kept, i, half.below(accept, at(new, i), old));
                }
            }
        }
    }
    // A pair is used only if its curvature is positive and well above rounding errors.
    let inverse = length.mul(splat(LEAST_PAIR_CURVATURE)).below(curve, one.div(curve), zero);
    half.below(pair, inverse, zero).store(&mut group.inverse[slot]);
    turned.store(&mut group.turned);
    for b in 0..group.weight.len() / WIDTH {
        let kept: M::V8 = at(&group.weight, b);
        put(&mut group.weight, b, half.below(accept, at(&here.weight, b), kept));
    }
}

/// Returns `sum_p a_p b_p` over the free parameters in every lane (one of eight fits). The sum is computed from four
/// partial sums.
#[inline(always)]
fn dot<M: MulAdd>(free: &[usize], a: &[f64], b: &[f64]) -> M::V8 {
    let mut sums = [M::V8::splat(0.0); 4];
    let mut fours = free.chunks_exact(4);
    for four in fours.by_ref() {
        for k in 0..4 {
            sums[k] = at::<M::V8>(a, four[k]).mul_add(at(b, four[k]), sums[k]);
        }
    }
    for &p in fours.remainder() {
        sums[0] = at::<M::V8>(a, p).mul_add(at(b, p), sums[0]);
    }
    sums[0].add(sums[1]).add(sums[2].add(sums[3]))
}

isa_fn! {
    /// Computes the first half of the BFGS recursion (Nocedal and Wright, algorithm 7.4), and writes the result to
    /// `group.from`. The caller must then multiply the result by the inverse metric.
    pub(super) fn before(free: &[usize], group: &mut Group) = before_body
}

#[inline(always)]
fn before_body<M: MulAdd>(free: &[usize], group: &mut Group) {
    let zero = M::V8::splat(0.0);
    for &p in free {
        put(&mut group.from, p, zero.sub(at::<M::V8>(&group.slope, p)));
    }
    for age in 1..=PAIRS {
        let slot = (group.next + PAIRS - age) % PAIRS;
        let Some(inverse) = group.used(slot) else { continue };
        let range = slot * group.size..(slot + 1) * group.size;
        let (steps, changes) = (&group.steps[range.clone()], &group.changes[range]);
        let weight = dot::<M>(free, steps, &group.from).mul(M::V8::load(&inverse));
        weight.store(&mut group.weights[slot]);
        let minus = zero.sub(weight);
        for &p in free {
            add_product(&mut group.from, p, minus, at(changes, p));
        }
    }
}

isa_fn! {
    /// Computes the second half of the BFGS recursion. In lanes (fits) in which `accept` is 1, `group.to` becomes the
    /// search direction `group.direction`. All other lanes keep their directions. Also computes `group.descent`.
    pub(super) fn after(free: &[usize], accept: &[f64; WIDTH], group: &mut Group) = after_body
}

#[inline(always)]
fn after_body<M: MulAdd>(free: &[usize], accept: &[f64; WIDTH], group: &mut Group) {
    let (zero, half) = (M::V8::splat(0.0), M::V8::splat(0.5));
    let accept = M::V8::load(accept);
    for age in (1..=PAIRS).rev() {
        let slot = (group.next + PAIRS - age) % PAIRS;
        let Some(inverse) = group.used(slot) else { continue };
        let range = slot * group.size..(slot + 1) * group.size;
        let (steps, changes) = (&group.steps[range.clone()], &group.changes[range]);
        let back = dot::<M>(free, changes, &group.to).mul(M::V8::load(&inverse));
        let weight = M::V8::load(&group.weights[slot]).sub(back);
        for &p in free {
            add_product(&mut group.to, p, weight, at(steps, p));
        }
    }
    for &p in free {
        let moves = half.below(at(&group.held, p), zero, at(&group.to, p));
        let kept: M::V8 = at(&group.direction, p);
        put(&mut group.direction, p, half.below(accept, moves, kept));
    }
    dot::<M>(free, &group.slope, &group.direction).store(&mut group.descent);
}

isa_fn! {
    /// Computes for each lane (one of eight fits) the largest fraction of its search direction, at most 1, that stays
    /// inside the bounds. Writes these fractions to `length`.
    pub(super) fn reach(free: &[usize], bounds: &Bounds, group: &Group, length: &mut [f64; WIDTH]) = reach_body
}

#[inline(always)]
fn reach_body<M: MulAdd>(free: &[usize], bounds: &Bounds, group: &Group, length: &mut [f64; WIDTH]) {
    let splat = M::V8::splat;
    let (zero, one) = (splat(0.0), splat(1.0));
    let mut outside = zero;
    for &p in free {
        let theta: M::V8 = at(&group.theta, p);
        let to = theta.add(at(&group.direction, p));
        let (lower, upper) = edges::<M>(bounds, p, theta);
        outside = to.below(lower, one, upper.below(to, one, outside));
    }
    one.store(length);
    if outside.sum() == 0.0 {
        return;
    }
    let mut least = one;
    for &p in free {
        let (theta, step): (M::V8, M::V8) = (at(&group.theta, p), at(&group.direction, p));
        let (lower, upper) = edges::<M>(bounds, p, theta);
        let room = step.below(zero, lower.sub(theta), upper.sub(theta));
        // A component of the direction that is close to zero does not limit the step.
        let part = splat(LEAST_COMPONENT).below(step.abs(), room.div(step), one);
        least = part.below(least, part, least);
    }
    // A lane that stays inside the bounds takes its whole step, even if rounding makes `room / step` slightly smaller
    // than 1. This code runs only if some lane leaves the bounds, so the result of a lane would otherwise depend on
    // other lanes.
    zero.below(outside, zero.below(least, least, zero), one).store(length);
}

/// Returns the lower and the upper limit of parameter `p` in every lane (one of eight fits), for a step that starts at
/// the parameter values `theta`.
#[inline(always)]
fn edges<M: MulAdd>(bounds: &Bounds, p: usize, theta: M::V8) -> (M::V8, M::V8) {
    let (lower, upper) = (M::V8::splat(bounds.lower[p]), M::V8::splat(bounds.upper[p]));
    if bounds.barrier[p] {
        let least = theta.mul(M::V8::splat(LEFT_BY_A_STEP));
        return (lower.below(least, least, lower), upper);
    }
    (lower, upper)
}

isa_fn! {
    /// Computes `trial = theta + length * direction` in every lane (one of eight fits), and moves the trial points into
    /// the bounds.
    pub(super) fn advance(free: &[usize], bounds: &Bounds, length: &[f64; WIDTH], group: &mut Group) = advance_body
}

#[inline(always)]
fn advance_body<M: MulAdd>(free: &[usize], bounds: &Bounds, length: &[f64; WIDTH], group: &mut Group) {
    let length = M::V8::load(length);
    for &p in free {
        let (lower, upper) = (M::V8::splat(bounds.lower[p]), M::V8::splat(bounds.upper[p]));
        let to = length.mul_add(at(&group.direction, p), at(&group.theta, p));
        let to = to.below(lower, lower, to);
        put(&mut group.trial, p, upper.below(to, upper, to));
    }
}
