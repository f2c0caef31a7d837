//! The fits of a run of toys: what is shared is prepared once, the toys of a unit go through the lanes fit
//! after fit.

use std::sync::{Mutex, PoisonError};

use ns_core::random::{Stream, centred_uniform, exp, normal_quantile};
use ns_core::{Certificate, FitOutcome, FitStatus, HistosysCode, Inactive, NormsysCode};

use super::descend::{Arrival, Best, Job, Kind, Walk, descend};
use super::directions::{Direction, MOST_DIRECTIONS, directions};
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
    /// Start points that all toys share: of every fit that may have several minima, and of those that seem to.
    first: Vec<Vec<f64>>,
    second: Vec<Vec<f64>>,
    /// Where normsys effects add up: every fit also starts from its minimum moved along these.
    directions: Vec<Direction>,
    /// Start points for a fit that lanes could not finish.
    others: Vec<Vec<f64>>,
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

/// Scattered start points of every fit, and of those that may have several minima.
const SCATTERED: (usize, usize) = (2, 10);

/// Scattered start points of models that bend much: all of the above are for every fit, these for those that seem to have
/// several minima.
const SCATTERED_IF_BENT: usize = 26;

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
        // The Jacobian has left the expectations at `point` in `scratch`.
        let directions = directions(plan, &scratch.lambda, &metric.free, &width);
        let mut course = Self {
            metric,
            bounds,
            bendable,
            width,
            first: Vec::new(),
            second: Vec::new(),
            directions,
            others: Vec::new(),
            shelf: Mutex::default(),
        };
        course.lay_out(point, apart, plan.bent);
        Some(course)
    }

    /// Whether there can be several minima.
    fn bends(&self) -> bool {
        !self.bendable.is_empty() || !self.directions.is_empty()
    }

    /// Finds the further start points that all toys share.
    fn lay_out(&mut self, point: &[f64], apart: bool, bent: bool) {
        if !self.bends() {
            return;
        }
        let mut common = point.to_vec();
        for &p in &self.metric.free {
            common[p] = common[p].clamp(self.bounds.lower[p], self.bounds.upper[p]);
        }
        let shifted = |by: f64| {
            let mut start = common.clone();
            for &p in &self.bendable {
                start[p] = (start[p] + by).clamp(self.bounds.lower[p], self.bounds.upper[p]);
            }
            start
        };
        let scattered = |range: std::ops::Range<usize>| range.map(|i| self.scattered(&common, i as u64));
        let own = || apart.then(|| common.clone()).into_iter();
        // Directions lead to other minima more often than chance.
        let few = SCATTERED.0.saturating_sub(self.directions.len());
        let mut first: Vec<Vec<f64>> = own().chain(scattered(0..few)).collect();
        let mut second: Vec<Vec<f64>> =
            [shifted(1.0), shifted(-1.0)].into_iter().chain(scattered(few..SCATTERED.1)).collect();
        if bent {
            first.append(&mut second);
            second.extend(scattered(SCATTERED.1..SCATTERED_IF_BENT));
        }
        self.others = own().chain(scattered(0..SCATTERED.0)).collect();
        (self.first, self.second) = (first, second);
    }

    /// Fits all `toys`, in their order.
    pub(crate) fn run(&self, level: Level, plan: &Plan, toys: &[Toy<'_>]) -> Vec<End> {
        // A poisoned lock only means that another thread panicked; every fit resets its lane.
        let shelf = || self.shelf.lock().unwrap_or_else(PoisonError::into_inner);
        let mut walk = shelf().pop().unwrap_or_else(|| Walk::new(plan, &self.metric));
        let jobs: Vec<Job<'_>> = toys
            .iter()
            .map(|toy| Job { main: toy.main, aux: toy.aux, start: toy.start, beat: None })
            .collect();
        let kind = Kind { plan, level, metric: &self.metric, bounds: &self.bounds, width: &self.width };
        let mut arrivals = descend(&kind, &jobs, &mut walk);
        self.look_elsewhere(&kind, &jobs, &mut arrivals, &mut walk);
        shelf().push(walk);
        arrivals.into_iter().zip(toys).map(|(arrival, toy)| self.describe(arrival, toy)).collect()
    }

    /// The shared part of the metric.
    pub(crate) fn metric(&self) -> &Metric {
        &self.metric
    }

    /// Start points that all fits share: those of every fit, and those of fits that may have several minima.
    pub(crate) fn starts(&self) -> (&[Vec<f64>], &[Vec<f64>]) {
        (&self.first, &self.second)
    }

    /// Free parameters whose mirror image may hide another minimum.
    pub(crate) fn bendable(&self) -> &[usize] {
        &self.bendable
    }

    /// Directions along which every fit starts once more from its minimum.
    pub(crate) fn directions(&self) -> &[Direction] {
        &self.directions
    }

    /// Whether every fit starts from the mirror image of its minimum, or only one that may have several minima.
    pub(crate) fn mirrors_first(&self) -> bool {
        self.directions.len() < MOST_DIRECTIONS
    }

    /// Further start points for a fit that lanes could not finish, if there may be several minima.
    pub(crate) fn other_starts(&self) -> &[Vec<f64>] {
        &self.others
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

    /// Looks for lower minima, where the model can have several. First from the common point (fits that start from
    /// another fit of their toy); from the minimum found, moved along each direction to either place; from points
    /// scattered around the common one, one less for each direction; and, unless there are two directions, from the
    /// mirror image of the minimum, all strongly asymmetric parameters on their other side. Where one of these leads
    /// to another minimum, lower or not, there may be more, and where the way was long: these toys start from further
    /// points, the mirror image among them if it was not yet.
    fn look_elsewhere(&self, kind: &Kind<'_>, jobs: &[Job<'_>], arrivals: &mut [Arrival], walk: &mut Walk) {
        if !self.bends() {
            return;
        }
        let (lower, upper) = (&self.bounds.lower, &self.bounds.upper);
        let mut open: Vec<usize> = (0..arrivals.len()).filter(|&i| arrivals[i].converged).collect();
        let mut several: Vec<bool> = arrivals.iter().map(|arrival| arrival.iterations > LONG).collect();
        for (shared, round) in [(&self.first, 0), (&self.second, 1)] {
            let mirror = !self.bendable.is_empty() && self.mirrors_first() == (round == 0);
            let own: Vec<Vec<Vec<f64>>> = open
                .iter()
                .map(|&i| {
                    let theta = &arrivals[i].theta;
                    let mut starts = Vec::new();
                    for direction in self.directions().iter().filter(|_| round == 0) {
                        for place in direction.places {
                            let mut start = theta.clone();
                            direction.go(&mut start, place, lower, upper);
                            starts.push(start);
                        }
                    }
                    if mirror {
                        let mut start = theta.clone();
                        for &p in &self.bendable {
                            start[p] = (-start[p]).clamp(lower[p], upper[p]);
                        }
                        starts.push(start);
                    }
                    starts
                })
                .collect();
            let mut starts: Vec<(usize, &[f64])> = Vec::new();
            for (&i, own) in open.iter().zip(&own) {
                starts.extend(shared.iter().chain(own).map(|start| (i, start.as_slice())));
            }
            let before: Vec<Best> =
                arrivals.iter().map(|best| Best { value: best.value, theta: best.theta.clone() }).collect();
            let again: Vec<Job<'_>> =
                starts.iter().map(|&(i, start)| Job { start, beat: Some(&before[i]), ..jobs[i] }).collect();
            for (&(i, _), other) in starts.iter().zip(descend(kind, &again, walk)) {
                // Most end before their certificate, as soon as they cannot win: how far they would have
                // fallen is known to a factor. An impossible start says nothing.
                let distinct = other.value - 10.0 * other.edm > before[i].value + DISTINCT
                    || other.value < before[i].value - DISTINCT;
                several[i] |= distinct && other.value.is_finite();
                let best = &mut arrivals[i];
                let (iterations, evaluations) =
                    (best.iterations + other.iterations, best.evaluations + other.evaluations);
                if other.converged && other.value < best.value {
                    *best = other;
                }
                (best.iterations, best.evaluations) = (iterations, evaluations);
            }
            open.retain(|&i| several[i]);
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
