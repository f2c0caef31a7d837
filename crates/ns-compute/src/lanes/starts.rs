//! Start points that all fits of one kind share, where there may be several minima.

use ns_core::random::{Stream, centred_uniform, exp, normal_quantile};

use super::descend::{DescentMemory, FitKind};
use super::directions::Direction;
use super::factor_starts::factor_starts;
use crate::eval::{Scratch, forward};
use crate::optimise::MOST_FREE;

/// Scattered start points of every fit, and of those that may have several minima.
const SCATTERED: (usize, usize) = (2, 10);

/// Scattered start points of strongly nonlinear models: all of the above are for every fit, these for those that seem to have
/// several minima.
const SCATTERED_IF_NONLINEAR: usize = 26;

/// Scattered start points of small models with kinks.
const SCATTERED_BETWEEN_KINKS: u64 = 32;

/// Seed of the scattered start points.
const SCATTER_SEED: u64 = 0x5ca7;

/// How often the way from the common point to a start point is halved, as long as the expected yield of some bin is zero there.
const MOST_HALVINGS: usize = 4;

/// Lists of start points.
#[derive(Debug, Default)]
pub(super) struct Starts {
    /// Of every fit that may have several minima.
    pub(super) first: Vec<Vec<f64>>,
    /// Of those that seem to.
    pub(super) second: Vec<Vec<f64>>,
    /// Of a fit that lanes could not finish.
    pub(super) others: Vec<Vec<f64>>,
}

/// The point around which the start points lie, and the data expected there.
pub(super) struct CommonPoint<'a> {
    /// The common point, inside the box.
    pub(super) point: &'a [f64],
    /// Data expected there.
    pub(super) main: &'a [f64],
    pub(super) aux: &'a [f64],
}

impl Starts {
    /// For models with kinks, whose fits on a device look at the other side of each parameter anyway: small ones start
    /// from scattered points too, as those of the CPU do.
    pub(super) fn between_kinks(kind: &FitKind<'_>, point: &[f64]) -> Self {
        let free = kind.metric.free.len();
        let count = if free > MOST_FREE { 0 } else { SCATTERED_BETWEEN_KINKS };
        Self { first: (0..count).map(|i| scattered(kind, point, i)).collect(), ..Self::default() }
    }

    /// Makes start points around `common`; `apart` if fits do not start at the common point.
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
        // Directions lead to other minima more often than chance.
        let few = SCATTERED.0.saturating_sub(directions.len());
        let mut starts = Self {
            first: own().chain(scattered(0..few)).collect(),
            second: [shifted(1.0), shifted(-1.0)].into_iter().chain(scattered(few..SCATTERED.1)).collect(),
            others: own().chain(scattered(0..SCATTERED.0)).collect(),
        };
        if kind.plan.policy.strongly_nonlinear {
            starts.first.append(&mut starts.second);
            starts.second.extend(scattered(SCATTERED.1..SCATTERED_IF_NONLINEAR));
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

/// Moves `start` towards `point` until every bin has a positive expected yield. Where many effects are asymmetric, a third of the
/// scattered points would be of no use to toys with counts in the bin concerned.
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

/// Start point number `index` around `start`: constrained parameters moved by a random part of their width,
/// the others scaled by a random factor. The same for every toy.
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
