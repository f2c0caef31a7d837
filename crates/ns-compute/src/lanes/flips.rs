//! Single parameters that may have another minimum at the opposite sign.
//!
//! An asymmetric effect is most nonlinear around 0, so its parameter can have a minimum on either side of 0
//! while all others hardly change. Changing the sign of that parameter in the known minimum gives a point
//! near the other minimum. Two evaluations decide whether a descent starts there: if `-ln L` were a parabola
//! with a single minimum, this point would be four times as high above the minimum as the point with the
//! parameter at 0.

use super::descend::{DescentJob, DescentMemory, FitKind, values};
use crate::shared_constants::{LEAST_DENT, MOST_FLIPS, MOST_RISE};

/// Returns points that differ from the minimum `theta`, where `-ln L` is `value`, in the sign of one of the
/// parameters `nonlinear`. Only points that are low enough for a descent are returned, the lowest first.
pub(super) fn flips(
    kind: &FitKind<'_>,
    job: &DescentJob<'_>,
    (value, theta): (f64, &[f64]),
    nonlinear: &[usize],
    memory: &mut DescentMemory,
) -> Vec<Vec<f64>> {
    let moved = |p: usize, to: f64| {
        let mut point = theta.to_vec();
        point[p] = to.clamp(kind.bounds.lower[p], kind.bounds.upper[p]);
        point
    };
    let flipped: Vec<Vec<f64>> = nonlinear.iter().map(|&p| moved(p, -theta[p])).collect();
    let centred: Vec<Vec<f64>> = nonlinear.iter().map(|&p| moved(p, 0.0)).collect();
    let at_flipped = values(kind, job, &flipped, memory);
    let at_centre = values(kind, job, &centred, memory);
    let mut worth: Vec<(f64, Vec<f64>)> = flipped
        .into_iter()
        .zip(at_flipped.iter().zip(&at_centre))
        .map(|(point, (flipped, centre))| (flipped - value, centre - value, point))
        .filter(|(rise, hump, _)| *rise < MOST_RISE && *rise < LEAST_DENT * hump)
        .map(|(rise, _, point)| (rise, point))
        .collect();
    worth.sort_by(|a, b| a.0.total_cmp(&b.0));
    worth.into_iter().take(MOST_FLIPS).map(|(_, point)| point).collect()
}
