//! The fits of a run of toys: what is shared is prepared once, the toys of a unit go through the lanes fit
//! after fit.

use std::sync::{Mutex, PoisonError};

use ns_core::random::{Stream, centred_uniform, exp, normal_quantile};
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
    /// Free parameters that are asymmetric enough for a second minimum.
    bendable: Vec<usize>,
    /// The point around which the data scatter, inside the box, and whether the fits start elsewhere.
    common: Vec<f64>,
    apart: bool,
    /// Widths of the constraints, per parameter.
    width: Vec<Option<f64>>,
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
    /// The scalar optimiser should go on from here, or from the start if there is nothing better.
    Left(Option<Vec<f64>>),
}

/// A further start point.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Side {
    /// Where the fits of all toys would start if none had been fitted before.
    Common,
    Mirror,
    Up,
    Down,
    /// All parameters at random, a number per start.
    Scattered(u64),
}

impl Side {
    const ALL: [Self; 14] = [
        Self::Common,
        Self::Scattered(0),
        Self::Scattered(1),
        Self::Mirror,
        Self::Up,
        Self::Down,
        Self::Scattered(2),
        Self::Scattered(3),
        Self::Scattered(4),
        Self::Scattered(5),
        Self::Scattered(6),
        Self::Scattered(7),
        Self::Scattered(8),
        Self::Scattered(9),
    ];
}

/// Scattered start points of a fit that the scalar optimiser finishes.
const FEW: u64 = 3;

/// Keys the scattered start points.
const SCATTER_SEED: u64 = 0x5ca7;

/// Iterations of a descent over curved ground, where minima may lie close to each other.
const LONG: usize = 30;

/// Minima whose values differ by more than this are different ones.
const DISTINCT: f64 = 1e-3;

impl Course {
    /// Prepares the fits that hold `fixed` and move the rest within `lower` and `upper`, for data that scatter
    /// around those expected at `point`, whose auxiliary part is `aux`; `apart` if they start elsewhere.
    /// `None` if lanes do not suit them: kinks, exponential interpolation, a model too large, a free factor
    /// without effect.
    pub(crate) fn new(
        level: Level,
        plan: &Plan,
        point: &[f64],
        aux: &[f64],
        (lower, upper, fixed): (Vec<f64>, Vec<f64>, &[bool]),
        apart: bool,
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
        let bendable = metric.free.iter().copied().filter(|&p| plan.bendable[p]).collect();
        let mut width = vec![None; plan.n_parameters()];
        for (&p, &w) in plan.gaussian.param.iter().zip(&plan.gaussian.inverse_sigma) {
            width[p] = Some(1.0 / w);
        }
        for (&p, &tau) in plan.poisson.param.iter().zip(&plan.poisson.tau) {
            width[p] = Some(1.0 / tau.sqrt());
        }
        let bounds = Bounds { lower, upper, barrier };
        let mut common = point.to_vec();
        for &p in &metric.free {
            common[p] = common[p].clamp(bounds.lower[p], bounds.upper[p]);
        }
        Some(Self { metric, bounds, bendable, common, apart, width, shelf: Mutex::default() })
    }

    /// Fits all `toys`, in their order.
    pub(crate) fn run(&self, level: Level, plan: &Plan, toys: &[Toy<'_>]) -> Vec<End> {
        // A poisoned lock only means that another thread panicked; every fit resets its lane.
        let shelf = || self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        let mut walk = shelf().pop().unwrap_or_else(|| Walk::new(plan, &self.metric));
        let jobs: Vec<Job<'_>> = toys
            .iter()
            .map(|toy| Job { main: toy.main, aux: toy.aux, start: toy.start, beat: f64::INFINITY })
            .collect();
        let kind = Kind { plan, level, metric: &self.metric, bounds: &self.bounds };
        let mut arrivals = descend(&kind, &jobs, &mut walk);
        self.look_elsewhere(&kind, &jobs, &mut arrivals, &mut walk);
        shelf().push(walk);
        arrivals.into_iter().zip(toys).map(|(arrival, toy)| self.describe(arrival, toy)).collect()
    }

    /// Further start points for a fit that lanes could not finish, if there may be several minima.
    pub(crate) fn other_starts(&self) -> Vec<Vec<f64>> {
        if self.bendable.is_empty() {
            return Vec::new();
        }
        (0..FEW).map(|index| self.scattered(&self.common, index)).collect()
    }

    /// Start point number `index` around `start`: constrained parameters moved by a random part of their width,
    /// the others scaled by a random factor. The same for every toy.
    fn scattered(&self, start: &[f64], index: u64) -> Vec<f64> {
        let stream = Stream::new(SCATTER_SEED, index, 0);
        let mut point = start.to_vec();
        for &p in &self.metric.free {
            let [low, high, ..] = stream.block(p as u32, 0);
            let random = normal_quantile(centred_uniform(low, high));
            let to = match self.width[p] {
                Some(width) => point[p] + width * random,
                None => point[p] * exp(0.3 * random),
            };
            point[p] = to.clamp(self.bounds.lower[p], self.bounds.upper[p]);
        }
        point
    }

    /// Looks for lower minima, where the model can have several: from the common point (fits that start from
    /// another fit of their toy), from two points scattered around it, and from the mirror image of the best
    /// minimum so far, all strongly asymmetric parameters on their other side. Where one of these leads to
    /// another minimum, lower or not, there may be more, and where the way was long: these toys start from
    /// ten further points.
    fn look_elsewhere(&self, kind: &Kind<'_>, jobs: &[Job<'_>], arrivals: &mut [Arrival], walk: &mut Walk) {
        if self.bendable.is_empty() {
            return;
        }
        let mut open: Vec<usize> = (0..arrivals.len()).filter(|&i| arrivals[i].converged).collect();
        let mut several: Vec<bool> = arrivals.iter().map(|arrival| arrival.iterations > LONG).collect();
        for side in Side::ALL {
            if side == Side::Common && !self.apart {
                continue;
            }
            let starts: Vec<Vec<f64>> = open
                .iter()
                .map(|&i| {
                    let mut start = match side {
                        Side::Common => return self.common.clone(),
                        Side::Mirror => arrivals[i].theta.clone(),
                        Side::Up | Side::Down => jobs[i].start.to_vec(),
                        Side::Scattered(index) => return self.scattered(&self.common, index),
                    };
                    for &p in &self.bendable {
                        let to = match side {
                            Side::Mirror => -start[p],
                            Side::Up => start[p] + 1.0,
                            _ => start[p] - 1.0,
                        };
                        start[p] = to.clamp(self.bounds.lower[p], self.bounds.upper[p]);
                    }
                    start
                })
                .collect();
            let again: Vec<Job<'_>> = open
                .iter()
                .zip(&starts)
                .map(|(&i, start)| Job { start, beat: arrivals[i].value, ..jobs[i] })
                .collect();
            let others = descend(kind, &again, walk);
            for (&i, other) in open.iter().zip(others) {
                let best = &mut arrivals[i];
                // Most end before their certificate, as soon as they cannot win: how far they would have
                // fallen is known to a factor. An impossible start says nothing.
                let distinct = other.value - 10.0 * other.edm > best.value + DISTINCT
                    || other.value < best.value - DISTINCT;
                several[i] |= distinct && other.value.is_finite();
                let (iterations, evaluations) =
                    (best.iterations + other.iterations, best.evaluations + other.evaluations);
                if other.converged && other.value < best.value {
                    *best = other;
                }
                (best.iterations, best.evaluations) = (iterations, evaluations);
            }
            if side == Side::Mirror {
                open.retain(|&i| several[i]);
            }
        }
    }

    fn describe(&self, arrival: Arrival, toy: &Toy<'_>) -> End {
        if !arrival.converged {
            // Below the saturated model there may be no minimum to go on to.
            let usable = arrival.value >= 0.0 && arrival.theta.iter().all(|x| x.is_finite());
            return End::Left(usable.then_some(arrival.theta));
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
