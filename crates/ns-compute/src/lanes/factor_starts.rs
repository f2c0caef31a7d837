//! Starting points at which a free scale factor has a very different value, and the other parameters are adjusted to
//! this value.
//!
//! The data determine the product of a factor and of other effects on its samples. A four times larger factor, together
//! with a shape that removes the sample from its control region, may fit nearly as well as the usual factor and shape.
//! `-ln L` is high between these two minima. Therefore a descent from a point at which only the factor differs returns
//! to the usual minimum. To avoid this, the factor is fixed while all other parameters are fitted to the data expected
//! at the common point, around which the data of all toys scatter.

use super::descend::{DescentJob, DescentMemory, FitKind, descend};
use super::group::Bounds;
use super::starts::CommonPoint;

/// Values of a factor that are tried, as multiples of its value at the common point (around which the data of all toys
/// scatter). If that value is not positive, they are multiples of the initial value of the factor.
const PLACES: [f64; 2] = [0.25, 4.0];

/// Largest `-ln L` at a starting point. Higher points are not used. `-ln L` is relative to the saturated model, for
/// the data that are expected at the common point of the toys.
const HIGHEST: f64 = 20.0;

/// Largest number of free scale factors that are tried. They are the first ones in the order of the parameters.
const MOST_FACTORS: usize = 8;

/// Returns starting points at which a free scale factor without a constraint has a very different value. Up to
/// [`MOST_FACTORS`] factors are tried.
pub(super) fn factor_starts(
    kind: &FitKind<'_>,
    common: &CommonPoint<'_>,
    memory: &mut DescentMemory,
) -> Vec<Vec<f64>> {
    let (lower, upper) = (&kind.bounds.lower, &kind.bounds.upper);
    let mut factors: Vec<usize> = kind.plan.structure.factor_param.iter().map(|&p| p as usize).collect();
    factors.sort_unstable();
    factors.dedup();
    factors.retain(|p| kind.width[*p].is_none() && kind.metric.free.contains(p));
    factors.truncate(MOST_FACTORS);
    let mut found = Vec::new();
    for p in factors {
        let usual = if common.point[p] > 0.0 { common.point[p] } else { kind.plan.structure.table.init[p] };
        for place in PLACES {
            let to = (place * usual).clamp(lower[p], upper[p]);
            let mut start = common.point.to_vec();
            start[p] = to;
            let mut bounds: Bounds = kind.bounds.clone();
            (bounds.lower[p], bounds.upper[p]) = (to, to);
            let held = FitKind { bounds: &bounds, ..*kind };
            let job = DescentJob { main: common.main, aux: common.aux, start: &start, beat: None };
            // The last point of a descent is used even if it is not certified as a minimum.
            let ends = descend(&held, &[job], memory).into_iter();
            let good = ends.filter(|end| end.value < HIGHEST && end.theta.iter().all(|x| x.is_finite()));
            found.extend(good.map(|end| end.theta));
        }
    }
    found
}
