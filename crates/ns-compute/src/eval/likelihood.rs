//! Computes `-ln L` from the expected yields, relative to `-ln L` of the saturated model.

use std::sync::Arc;

use ns_core::EventTable;

use super::Scratch;
use crate::events;
use crate::plan::Plan;
use crate::shared_constants::BELOW_SATURATED;
use crate::simd::{Level, MulAdd, isa_fn};
use crate::terms::gaussian;
use crate::terms::poisson::{deviance_derivatives, extended, saturated, term};

/// Data of one fit, and the constants of `-ln L` that depend on these data but not on parameters.
#[derive(Debug, Clone)]
pub(crate) struct Dataset {
    /// Observed counts of the main bins, one per bin.
    pub(crate) main: Vec<f64>,
    /// Auxiliary data, one per constraint term.
    pub(crate) aux: Vec<f64>,
    /// Events, one table per event channel.
    pub(crate) events: Vec<Arc<EventTable>>,
    /// `-ln L` of the main counts in the saturated model. In this model every expected yield equals the observed
    /// count.
    pub(crate) saturated_main: f64,
    /// `-ln L` of the constraint terms in the saturated model, including the Gaussian normalisation constants.
    pub(crate) saturated_constraint: f64,
}

impl Dataset {
    /// Copies the given data and computes the constants of `-ln L`.
    pub(crate) fn new(plan: &Plan, main: &[f64], aux: &[f64], events: &[Arc<EventTable>]) -> Self {
        let mut data = Self {
            main: main.to_vec(),
            aux: aux.to_vec(),
            events: events.to_vec(),
            saturated_main: 0.0,
            saturated_constraint: 0.0,
        };
        data.saturate(plan);
        data
    }

    /// Allocates a data set whose numbers the caller fills in later.
    pub(crate) fn empty(plan: &Plan) -> Self {
        Self {
            main: vec![0.0; plan.n_bins()],
            aux: vec![0.0; plan.n_aux()],
            events: Vec::new(),
            saturated_main: 0.0,
            saturated_constraint: 0.0,
        }
    }

    /// Returns a copy of these data with at most `most` events per table. The events are taken at equal distances in
    /// the table. Their weights are scaled, so they also represent the omitted events. Returns `None` if no table has
    /// more than four times `most` events.
    pub(crate) fn thinned(&self, most: usize) -> Option<Self> {
        if self.events.iter().all(|table| table.len() <= 4 * most) {
            return None;
        }
        let events = self.events.iter().map(|table| {
            let step = table.len().div_ceil(most).max(1);
            let kept = table.len().div_ceil(step).max(1);
            let factor = table.len() as f64 / kept as f64;
            let weights: Arc<[f64]> = match &table.weights {
                Some(weights) => weights.iter().step_by(step).map(|w| factor * w).collect(),
                None => vec![factor; kept].into(),
            };
            let columns = table.columns.iter().map(|column| column.iter().step_by(step).copied().collect());
            Arc::new(EventTable { columns: columns.collect(), weights: Some(weights) })
        });
        Some(Self { events: events.collect(), ..self.clone() })
    }

    /// Computes the constants `saturated_main` and `saturated_constraint` from the counts and auxiliary data.
    pub(crate) fn saturate(&mut self, plan: &Plan) {
        self.saturated_main = self.main.iter().map(|&n| saturated(n)).sum();
        self.saturated_constraint = plan.saturated_normal()
            + plan.structure.poisson.aux.iter().map(|&a| saturated(self.aux[a])).sum::<f64>();
    }
}

/// Value of `-ln L` at one point, split into main and constraint terms, with the scale of its rounding errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Likelihood {
    /// Sum of the terms of the main counts, relative to the saturated model, and of the terms of the events.
    pub(crate) main: f64,
    /// Sum of the constraint terms, relative to the saturated model, and of the penalty terms.
    pub(crate) constraint: f64,
    /// Sum of the absolute values of all terms. The rounding error of `-ln L` is a few times this sum times the
    /// machine epsilon.
    pub(crate) scale: f64,
    /// Value of `-ln L`, relative to the saturated model, below which a descent is given up, because no minimum
    /// follows. For data with events it is minus infinity, because they have no saturated model.
    pub(crate) least: f64,
}

impl Likelihood {
    /// Returns the value that fits minimise: `-ln L` without the constants of the data set.
    pub(crate) fn value(&self) -> f64 {
        self.main + self.constraint
    }
}

/// Computes the terms of `-ln L` at `theta` and their derivatives. The terms of bins are computed from the expected
/// yields in `scratch`. The terms of events are evaluated with all their derivatives. The value is infinite if a bin
/// has an expected yield `lambda <= 0` and an observed count `n > 0`, or if the density of an event is not positive.
///
/// If `floor > 0`, the terms of bins are continued quadratically for `lambda` below `floor * n`, and the terms of events
/// for densities that are not positive, so they are finite everywhere. This helps to find a first point at which all
/// yields and densities are positive.
pub(crate) fn likelihood(
    level: Level,
    plan: &Plan,
    theta: &[f64],
    data: &Dataset,
    floor: f64,
    scratch: &mut Scratch,
) -> Likelihood {
    let mut terms = bins_and_constraints(level, plan, theta, data, floor, scratch);
    if !plan.events.is_empty() {
        scratch.events.set_floor(floor);
        let own = events::evaluate(level, &plan.events, theta, &data.aux, &data.events, &mut scratch.events);
        terms.main += own.events;
        terms.constraint += own.penalties;
        terms.scale += own.scale;
        if plan.events.has_channels() {
            terms.least = f64::NEG_INFINITY;
        }
    }
    terms
}

isa_fn! {
    /// Computes the terms of `-ln L` of bins and constraints. The expected yields are in `scratch`. Also computes the
    /// derivatives of the bins' terms with respect to these yields.
    fn bins_and_constraints(plan: &Plan, theta: &[f64], data: &Dataset, floor: f64, scratch: &mut Scratch) -> Likelihood = body
}

#[inline(always)]
fn body<M: MulAdd>(
    plan: &Plan,
    theta: &[f64],
    data: &Dataset,
    floor: f64,
    scratch: &mut Scratch,
) -> Likelihood {
    let lambdas = &scratch.lambda[..plan.n_bins()];
    let (slopes, curvatures) = (&mut scratch.slope[..plan.n_bins()], &mut scratch.curvature[..plan.n_bins()]);
    let (mut main, mut scale, mut forbidden) = (0.0, 0.0, false);
    if floor > 0.0 {
        for (b, &n) in data.main.iter().enumerate() {
            let (value, slope, curvature) = extended::<M>(lambdas[b], n, floor);
            main += value;
            scale += value.abs();
            slopes[b] = slope;
            curvatures[b] = curvature;
        }
    } else {
        let counts = &data.main[..plan.n_bins()];
        let terms = &mut scratch.terms[..plan.n_bins()];
        for b in 0..plan.n_bins() {
            let (lambda, n) = (lambdas[b], counts[b]);
            let term = term::<M>(lambda, n);
            forbidden |= term.is_impossible || lambda.is_nan();
            terms[b] = term.value;
            let (slope, curvature) = deviance_derivatives(term.lambda, term.n);
            slopes[b] = if n > 0.0 { slope } else { 1.0 };
            curvatures[b] = if n > 0.0 { curvature } else { 0.0 };
        }
        // The sums are in a separate loop. With them, the compiler could not vectorise the loop above.
        for ((term, lambda), n) in terms.iter().zip(lambdas).zip(counts) {
            main += term;
            scale += term.abs() + (lambda - n).abs();
        }
    }
    let mut constraint = gaussian_terms(plan, theta, data);
    for (p, a, tau) in plan.poisson() {
        let (lambda, n) = (tau * theta[p], data.aux[a]);
        let term = term::<M>(lambda, n);
        forbidden |= term.is_impossible;
        constraint += term.value;
        scale += (lambda - n).abs();
    }
    scale += constraint.abs();
    if forbidden {
        main = f64::INFINITY;
    }
    Likelihood { main, constraint, scale, least: BELOW_SATURATED }
}

/// Returns the sum of the Gaussian constraint terms of `-ln L`.
#[inline(always)]
fn gaussian_terms(plan: &Plan, theta: &[f64], data: &Dataset) -> f64 {
    let gaussian = &plan.structure.gaussian;
    let (params, aux, weights) = (&gaussian.param[..], &gaussian.aux[..], &plan.numbers.inverse_sigma[..]);
    let term = |p: usize, a: usize, w: f64| gaussian::value(gaussian::pull(theta[p], data.aux[a], w));
    // With a single sum, each addition would wait for the one before. Four sums are independent.
    let mut sums = [0.0; 4];
    let fours = params.chunks_exact(4).zip(aux.chunks_exact(4)).zip(weights.chunks_exact(4));
    for ((p, a), w) in fours {
        for k in 0..4 {
            sums[k] += term(p[k], a[k], w[k]);
        }
    }
    let whole = params.len() / 4 * 4;
    for i in whole..params.len() {
        sums[i - whole] += term(params[i], aux[i], weights[i]);
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}
