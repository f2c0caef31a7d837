//! Starting points with very different values of free scale factors, to which the other parameters are
//! adjusted.
//!
//! The data determine the product of a factor and of the other effects on its samples. A factor four times as
//! large, with a shape that removes the sample from its control region, may fit nearly as well as the usual
//! factor and shape. Between the two minima `-ln L` is high, so a descent from a point at which only the
//! factor differs returns to the usual minimum. Therefore the factor is fixed while all other parameters are
//! fitted to the data expected at the common point.

use super::descend::{DescentJob, DescentMemory, FitKind, descend};
use super::group::Bounds;
use super::starts::CommonPoint;

/// Values of a factor that are tried, in units of its value at the common point (of its initial value if that
/// is not positive).
const PLACES: [f64; 2] = [0.25, 4.0];

/// Value of `-ln L` for the expected data, relative to the saturated model, above which a point is not used.
const HIGHEST: f64 = 20.0;

/// Largest number of factors that are tried: the first ones of the model.
const MOST_FACTORS: usize = 8;

/// Returns the starting points for the free factors without a constraint.
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
            // The point reached is used even if it has no certificate.
            let ends = descend(&held, &[job], memory).into_iter();
            let good = ends.filter(|end| end.value < HIGHEST && end.theta.iter().all(|x| x.is_finite()));
            found.extend(good.map(|end| end.theta));
        }
    }
    found
}
