//! The fits of a run of toys: what is shared is prepared once, the toys of a unit go through the lanes fit
//! after fit.

use std::sync::{Mutex, PoisonError};

use ns_core::{Certificate, FitOutcome, FitStatus, HistosysCode, Inactive, NormsysCode};

use super::descend::{Arrival, Job, Kind, Walk, descend};
use super::group::Bounds;
use super::jacobian::jacobian;
use super::metric::Metric;
use crate::eval::Scratch;
use crate::plan::Plan;
use crate::simd::Level;

/// What all toys of one request share.
pub(crate) struct Course {
    metric: Metric,
    bounds: Bounds,
    shelf: Mutex<Vec<Walk>>,
}

/// A toy on its way.
pub(crate) struct Toy<'a> {
    pub(crate) main: &'a [f64],
    pub(crate) aux: &'a [f64],
    pub(crate) start: &'a [f64],
    /// `-ln L` of the saturated model.
    pub(crate) saturated: f64,
}

/// What became of it.
pub(crate) enum End {
    /// A certified minimum.
    Fitted(FitOutcome),
    /// The scalar optimiser should go on from here.
    Left(Vec<f64>),
}

impl Course {
    /// Prepares the fits that hold `fixed` and move the rest within `lower` and `upper`, for data that scatter
    /// around those expected at `point`, whose auxiliary part is `aux`. `None` if lanes do not suit them: kinks,
    /// exponential interpolation, a model too large.
    pub(crate) fn new(
        level: Level,
        plan: &Plan,
        point: &[f64],
        aux: &[f64],
        (lower, upper, fixed): (Vec<f64>, Vec<f64>, &[bool]),
        scratch: &mut Scratch,
    ) -> Option<Self> {
        let bent = plan.histosys != HistosysCode::Code0 || plan.hist_curve.is_empty();
        if plan.has_kinks || !bent || (plan.normsys != NormsysCode::Code4 && !plan.norm_runs.is_empty()) {
            return None;
        }
        let rows = jacobian(level, plan, point, scratch);
        let metric = Metric::new(plan, point, aux, fixed, &rows)?;
        let mut barrier = vec![false; plan.n_parameters()];
        for &p in &plan.poisson.param {
            barrier[p] = true;
        }
        Some(Self { metric, bounds: Bounds { lower, upper, barrier }, shelf: Mutex::default() })
    }

    /// Fits all `toys`, in their order.
    pub(crate) fn run(&self, level: Level, plan: &Plan, toys: &[Toy<'_>]) -> Vec<End> {
        // A poisoned lock only means that another thread panicked; every fit resets its lane.
        let shelf = || self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        let mut walk = shelf().pop().unwrap_or_else(|| Walk::new(plan, &self.metric));
        let jobs: Vec<Job<'_>> =
            toys.iter().map(|toy| Job { main: toy.main, aux: toy.aux, start: toy.start }).collect();
        let kind = Kind { plan, level, metric: &self.metric, bounds: &self.bounds };
        let arrivals = descend(&kind, &jobs, &mut walk);
        shelf().push(walk);
        arrivals.into_iter().zip(toys).map(|(arrival, toy)| self.describe(arrival, toy)).collect()
    }

    fn describe(&self, arrival: Arrival, toy: &Toy<'_>) -> End {
        if !arrival.converged {
            return End::Left(arrival.theta);
        }
        let held = arrival.held.iter().map(|&p| {
            let lower = arrival.theta[p] <= self.bounds.lower[p];
            (p, if lower { Inactive::LowerBound } else { Inactive::UpperBound })
        });
        End::Fitted(FitOutcome {
            status: FitStatus::Converged,
            nll: arrival.value + toy.saturated,
            certificate: Certificate {
                edm: arrival.edm,
                // The length of the gradient in the metric bounds each of its elements there.
                projected_gradient: (2.0 * arrival.edm).sqrt(),
                indefinite_steps: 0,
                restarts_improved: 0,
            },
            n_iterations: arrival.iterations,
            n_evaluations: arrival.evaluations,
            inactive: held.collect(),
            empty_bins: arrival.empty,
            uncertainties: Vec::new(),
            covariance: None,
            parameters: arrival.theta,
        })
    }
}
