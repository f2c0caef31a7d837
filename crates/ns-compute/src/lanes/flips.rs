//! Flips: starting points at which the sign of a single parameter is changed, to find another minimum.
//!
//! An asymmetric effect is most nonlinear around 0. Its parameter can therefore have a minimum on each side of 0, while
//! all other parameters hardly differ. Changing the sign of the parameter at the known minimum leads close to the other
//! minimum.
//!
//! Two heights of `-ln L` above the known minimum decide whether a descent starts from such a flipped point: the height
//! of the flipped point, and the height of the point at which the parameter is 0. Around a single minimum `-ln L` is a
//! parabola, and the flipped point is four times as high as the point with the parameter at 0.

use super::WIDTH;
use super::descend::{DescentEnd, DescentJob, DescentMemory, FitKind, load, values};
use super::evaluate::expect;
use super::single_moves::{SingleMoves, rises};
use crate::plan::Plan;
use crate::shared_constants::{LEAST_DENT, MOST_FLIPS, MOST_RISE};

/// The parameters whose signs are changed, one at a time, to find another minimum.
#[derive(Debug)]
pub(super) struct Flips {
    params: Vec<usize>,
    /// The effects of each parameter in `params`, for a fast computation of heights. `None` if one of the parameters
    /// has effects other than normsys and histosys.
    moves: Option<Vec<SingleMoves>>,
}

impl Flips {
    /// Prepares changes of the sign of each of the parameters `params`.
    pub(super) fn new(plan: &Plan, params: &[usize]) -> Self {
        Self { params: params.to_vec(), moves: SingleMoves::of_all(plan, params) }
    }

    /// Returns the starting points of each of up to eight toys. Each starting point is the toy's minimum with the sign
    /// of one parameter changed. Only points that are low enough for a descent are returned, the lowest first.
    pub(super) fn of_minima(
        &self,
        kind: &FitKind<'_>,
        toys: &[(&DescentJob<'_>, &DescentEnd)],
        memory: &mut DescentMemory,
    ) -> Vec<Vec<Vec<f64>>> {
        let heights = match &self.moves {
            Some(moves) => by_single_moves(kind, moves, toys, memory),
            None => toys.iter().map(|(job, best)| self.by_evaluation(kind, job, best, memory)).collect(),
        };
        let points = toys.iter().zip(heights).map(|((_, best), heights)| {
            let low = |&(_, (rise, hump)): &(usize, (f64, f64))| rise < MOST_RISE && rise < LEAST_DENT * hump;
            let mut worth: Vec<(usize, (f64, f64))> =
                self.params.iter().copied().zip(heights).filter(low).collect();
            worth.sort_by(|(_, a), (_, b)| a.0.total_cmp(&b.0));
            worth.into_iter().take(MOST_FLIPS).map(|(p, _)| moved(kind, &best.theta, p, -1.0)).collect()
        });
        points.collect()
    }

    /// Returns a pair of heights for each parameter: the rise of `-ln L` from the minimum `best` to the point at which
    /// the parameter has the opposite sign, and the rise from `best` to the point at which the parameter is 0.
    fn by_evaluation(
        &self,
        kind: &FitKind<'_>,
        job: &DescentJob<'_>,
        best: &DescentEnd,
        memory: &mut DescentMemory,
    ) -> Vec<(f64, f64)> {
        let mut heights = |factor: f64| -> Vec<f64> {
            let points: Vec<Vec<f64>> =
                self.params.iter().map(|&p| moved(kind, &best.theta, p, factor)).collect();
            values(kind, job, &points, memory).into_iter().map(|value| value - best.value).collect()
        };
        let flipped = heights(-1.0);
        flipped.into_iter().zip(heights(0.0)).collect()
    }
}

/// Returns `theta` with the parameter `p` multiplied by `factor` and kept within its bounds.
fn moved(kind: &FitKind<'_>, theta: &[f64], p: usize, factor: f64) -> Vec<f64> {
    let mut point = theta.to_vec();
    point[p] = (factor * theta[p]).clamp(kind.bounds.lower[p], kind.bounds.upper[p]);
    point
}

/// Returns the same pairs of heights as `Flips::by_evaluation`, for up to eight toys at once: for each parameter, the
/// rise of `-ln L` to the point with the opposite sign and to the point with the parameter at 0. The index order is
/// toy, parameter.
fn by_single_moves(
    kind: &FitKind<'_>,
    moves: &[SingleMoves],
    toys: &[(&DescentJob<'_>, &DescentEnd)],
    memory: &mut DescentMemory,
) -> Vec<Vec<(f64, f64)>> {
    let DescentMemory { group, scratch, shifts, .. } = memory;
    // If there are fewer toys than lanes, the remaining lanes repeat the toys.
    for (l, (job, best)) in toys.iter().cycle().take(WIDTH).enumerate() {
        load(&DescentJob { start: &best.theta, ..**job }, l, group);
    }
    expect(kind.level, kind.plan, &group.trial, &group.main, scratch);
    let mut heights: Vec<Vec<(f64, f64)>> = toys.iter().map(|_| Vec::with_capacity(moves.len())).collect();
    for one in moves {
        let (lower, upper) = (kind.bounds.lower[one.param], kind.bounds.upper[one.param]);
        let mut rise = |factor: f64| {
            let mut to = [0.0; WIDTH];
            for (to, (_, best)) in to.iter_mut().zip(toys.iter().cycle()) {
                *to = (factor * best.theta[one.param]).clamp(lower, upper);
            }
            let mut found = [0.0; WIDTH];
            rises(kind.level, kind.plan, one, &to, group, scratch, shifts, &mut found);
            found
        };
        let flipped = rise(-1.0);
        // The second height is needed only if the first height does not already exclude the point.
        let low = flipped.iter().any(|rise| *rise < MOST_RISE);
        let centred = if low { rise(0.0) } else { [0.0; WIDTH] };
        for ((heights, flipped), centred) in heights.iter_mut().zip(flipped).zip(centred) {
            heights.push((flipped, centred));
        }
    }
    heights
}
