//! The border of the chi2 law in one direction.

use super::axes::Axes;
use crate::InferenceError;
use crate::analysis::Analysis;
use crate::observed::Observed;

/// Largest number of fits in one direction.
const MOST_FITS: usize = 40;

/// Relative distance from the wanted root of the rise at which the border is found by the slope.
const CLOSE: f64 = 1e-3;

/// The border of the chi2 law in one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Law {
    /// The distance of the border from the best fit.
    At(f64),
    /// A bound is inside the region.
    Bound,
    /// The rise is not reached.
    Never,
    /// A fit ended below the best fit.
    Moved,
}

/// Finds the distance at which `-2 ln L` has risen by `level`. The root of the rise is nearly proportional to the distance.
pub(super) fn law(
    analysis: &mut Analysis<'_>,
    observed: &mut Observed,
    (axes, indices): (&Axes, [usize; 2]),
    direction: [f64; 2],
    level: f64,
) -> Result<Law, InferenceError> {
    let (room, target, generation) = (axes.room(direction), level.sqrt(), observed.generation);
    if room <= 0.0 {
        return Ok(Law::Bound);
    }
    let (mut below, mut above): ((f64, f64), Option<(f64, f64)>) = ((0.0, 0.0), None);
    let mut at = room.min(1.0);
    for _ in 0..MOST_FITS {
        let held: Vec<(usize, f64)> = indices.into_iter().zip(axes.point(direction, at)).collect();
        let height = observed.at(analysis, &held)?.t.sqrt();
        if observed.generation != generation {
            return Ok(Law::Moved);
        }
        let other = if height < target { above.unwrap_or(below) } else { below };
        let slope = (height - other.1) / (at - other.0);
        if (height - target).abs() <= CLOSE * target {
            let step = (target - height) / slope;
            return Ok(Law::At(if step.is_finite() { at + step } else { at }));
        }
        if height < target {
            if at >= room {
                return Ok(Law::Bound);
            }
            below = (at, height);
        } else {
            above = Some((at, height));
        }
        at = match above {
            None => (at * (target / height.max(1e-3 * target)).clamp(1.1, 4.0)).min(room),
            Some(above) => {
                let share = (target - below.1) / (above.1 - below.1);
                below.0 + share.clamp(0.05, 0.95) * (above.0 - below.0)
            }
        };
    }
    Ok(Law::Never)
}
