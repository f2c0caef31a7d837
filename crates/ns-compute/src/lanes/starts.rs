//! Starting points that all fits of a model share. They are used if there may be several minima.

use ns_core::random::{Stream, centred_uniform, exp, normal_quantile};

use super::descend::{DescentMemory, FitKind};
use super::directions::Direction;
use super::factor_starts::factor_starts;
use crate::eval::{Scratch, forward};
use crate::optimise::MOST_FREE;

/// Numbers of scattered starting points. The first is the number in every fit, and the second is the total number in
/// fits that seem to have several minima.
const SCATTERED: (usize, usize) = (2, 10);

/// Number of scattered starting points in fits of small models with kinks.
const SCATTERED_BETWEEN_KINKS: u64 = 32;

/// Seed of the random numbers from which the scattered starting points are computed.
const SCATTER_SEED: u64 = 0x5ca7;

/// Largest number of times that a starting point is moved halfway to the common point of the toys. It is moved as long
/// as some bin has no positive expected yield.
const MOST_HALVINGS: usize = 4;

/// Lists of starting points that all fits of a model share.
#[derive(Debug, Default)]
pub(super) struct Starts {
    /// Starting points for further descents in every fit.
    pub(super) first: Vec<Vec<f64>>,
    /// Starting points for more descents in fits that seem to have several minima.
    pub(super) second: Vec<Vec<f64>>,
    /// Starting points for the scalar optimiser, in fits that could not be finished in SIMD lanes.
    pub(super) others: Vec<Vec<f64>>,
}

/// The common point of the toys, around which the starting points lie, and the data that are expected at this point.
pub(super) struct CommonPoint<'a> {
    /// Parameter values of the common point of the toys, inside the bounds.
    pub(super) point: &'a [f64],
    /// Counts of the main bins that are expected at the common point of the toys.
    pub(super) main: &'a [f64],
    /// Auxiliary data that are expected at the common point of the toys.
    pub(super) aux: &'a [f64],
}

impl Starts {
    /// Returns the starting points for fits on a GPU of a model that has kinks or exponential interpolation. For a
    /// small model these are points scattered around `point`, as on the CPU. For all other models there are none. If
    /// the model has kinks, these fits also try the opposite sign of each parameter.
    pub(super) fn between_kinks(kind: &FitKind<'_>, point: &[f64]) -> Self {
        let free = kind.metric.free.len();
        let count = if free > MOST_FREE { 0 } else { SCATTERED_BETWEEN_KINKS };
        Self { first: (0..count).map(|i| scattered(kind, point, i)).collect(), ..Self::default() }
    }

    /// Creates starting points around the common point of the toys. If `apart` is true, the first descents do not start
    /// at the common point, and the common point is one of the starting points.
    pub(super) fn new(
        kind: &FitKind<'_>,
        common: &CommonPoint<'_>,
        nonlinear: &[usize],
        directions: &[Direction],
        apart: bool,
        memory: &mut DescentMemory,
        scratch: &mut Scratch,
    ) -> Self {
        let (lower, upper) = (&kind.bounds.lower, &kind.bounds.upper);
        let shifted = |by: f64| {
            let mut start = common.point.to_vec();
            for &p in nonlinear {
                start[p] = (start[p] + by).clamp(lower[p], upper[p]);
            }
            start
        };
        let scattered =
            |range: std::ops::Range<usize>| range.map(|i| scattered(kind, common.point, i as u64));
        let own = || apart.then(|| common.point.to_vec()).into_iter();
        // Directions lead to other minima more often than scattered points. They therefore replace some of the
        // scattered points.
        let few = SCATTERED.0.saturating_sub(directions.len());
        let mut starts = Self {
            first: own().chain(scattered(0..few)).collect(),
            second: [shifted(1.0), shifted(-1.0)].into_iter().chain(scattered(few..SCATTERED.1)).collect(),
            others: own().chain(scattered(0..SCATTERED.0)).collect(),
        };
        if kind.plan.policy.strongly_nonlinear {
            // At the first two points, all asymmetric parameters are moved.
            starts.first.extend(starts.second.drain(..2));
            for start in starts.first.iter_mut().chain(&mut starts.second).chain(&mut starts.others) {
                make_possible(kind, common.point, start, scratch);
            }
            let factor_starts = factor_starts(kind, common, memory);
            starts.others.extend(factor_starts.iter().cloned());
            starts.first.extend(factor_starts);
        }
        starts
    }
}

/// Moves `start` towards `point` until every bin has a positive expected yield, in at most [`MOST_HALVINGS`] steps.
/// Without this, a third of the scattered points in models with many asymmetric effects could not be used for toys that
/// have counts in a bin without a positive expected yield.
fn make_possible(kind: &FitKind<'_>, point: &[f64], start: &mut [f64], scratch: &mut Scratch) {
    for _ in 0..MOST_HALVINGS {
        forward(kind.level, kind.plan, start, scratch);
        if scratch.lambda.iter().take(kind.plan.n_bins()).all(|lambda| *lambda > 0.0) {
            break;
        }
        for (x, at) in start.iter_mut().zip(point) {
            *x = 0.5 * (*x + at);
        }
    }
}

/// Returns the scattered starting point with number `index` around `start`. Each free parameter with a constraint is
/// moved by a random multiple of the constraint's width. Each other free parameter is multiplied by a random factor.
/// The point is the same for every toy.
fn scattered(kind: &FitKind<'_>, start: &[f64], index: u64) -> Vec<f64> {
    let stream = Stream::new(SCATTER_SEED, index, 0);
    let mut point = start.to_vec();
    for &p in &kind.metric.free {
        let [low, high, ..] = stream.block(p as u32, 0);
        let random = normal_quantile(centred_uniform(low, high));
        let to = match kind.width[p] {
            Some(width) => point[p] + width * random,
            None => point[p] * exp(0.3 * random),
        };
        point[p] = to.clamp(kind.bounds.lower[p], kind.bounds.upper[p]);
    }
    point
}
