//! Checks that a flow is normalised over its support, where the fit range holds only a part of it.

use ns_core::{LogProb, LogProbError};

use super::quadrature::{COARSE, Evaluate, NORMALISED, axis, refused, sum_over};

/// Number of panels of each piece of a feature at the beginning, for flows with one and with two features.
const FIRST: [usize; 2] = [128, 16];
/// Largest number of panels of each piece of a feature.
const LAST: [usize; 2] = [8192, 128];

/// Returns an error if the integral of a density over its whole support is not 1. `sides` is a box that the support
/// reaches.
///
/// Each feature is cut at the ends of the box. Beyond an end, the distance from it in widths of the box is `s / (1 - s)`,
/// so that an infinite piece has finite nodes. There is no check of more than two features, nor if the graph gives no
/// numbers out of the box or the quadrature does not settle: then nothing is known.
///
/// # Errors
/// [`LogProbError::NotNormalised`].
pub(super) fn check(
    density: &dyn LogProb,
    log_prob: Evaluate<'_>,
    sides: &[(f64, f64)],
    context: &[f64],
) -> Result<(), LogProbError> {
    let support = density.support();
    let held = support.iter().zip(sides).all(|(own, side)| side.0 <= own.0 && own.1 <= side.1);
    let place = support.len().wrapping_sub(1);
    let (false, Some(&first), Some(&last)) = (held, FIRST.get(place), LAST.get(place)) else { return Ok(()) };
    let integral = |panels: usize| {
        let axes: Vec<Vec<(f64, f64)>> =
            support.iter().zip(sides).map(|(own, side)| nodes(*own, *side, panels)).collect();
        sum_over(log_prob, &axes, context).ok()
    };
    let Some(mut before) = integral(first) else { return Ok(()) };
    let mut panels = 2 * first;
    loop {
        let Some(value) = integral(panels) else { return Ok(()) };
        let is_settled = (value - before).abs() <= COARSE;
        if is_settled && (value - 1.0).abs() <= NORMALISED {
            return Ok(());
        }
        // A part that all nodes miss is found with more of them, so a flow is refused with the most nodes only.
        if 2 * panels > last {
            return if is_settled { Err(wrong(density, value)) } else { Ok(()) };
        }
        (before, panels) = (value, 2 * panels);
    }
}

fn wrong(density: &dyn LogProb, value: f64) -> LogProbError {
    refused(
        density,
        format!(
            "its integral over its support is {value:.6}, although it is normalised over its support to 1; check the graph, \
             and the support in the manifest"
        ),
    )
}

/// Returns nodes and weights over the support of a feature: within the side of the box, below it and above it.
fn nodes(support: (f64, f64), side: (f64, f64), panels: usize) -> Vec<(f64, f64)> {
    let (lo, hi) = (side.0.max(support.0), side.1.min(support.1));
    let width = hi - lo;
    let mut all = axis((lo, hi), panels);
    let mut beyond = |end: f64, length: f64, sign: f64| {
        if !(length > 0.0) {
            return;
        }
        let last = if length.is_finite() { length / (width + length) } else { 1.0 };
        all.extend(axis((0.0, last), panels).into_iter().map(|(s, weight)| {
            let rest = 1.0 - s;
            (end + sign * width * s / rest, weight * width / (rest * rest))
        }));
    };
    beyond(hi, support.1 - hi, 1.0);
    beyond(lo, lo - support.0, -1.0);
    all
}

#[cfg(test)]
mod tests {
    use super::nodes;

    #[test]
    fn nodes_beyond_the_box_integrate_to_finite_and_infinite_ends() {
        let bell = |x: f64| (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
        let over_panels = |support: (f64, f64), side: (f64, f64), panels: usize| {
            nodes(support, side, panels).iter().map(|(x, weight)| weight * bell(*x)).sum::<f64>()
        };
        let over = |support, side| over_panels(support, side, 128);
        let (no, half) = (f64::NEG_INFINITY, 0.5);
        assert!((over((no, f64::INFINITY), (-1.0, 3.0)) - 1.0).abs() < 1e-10);
        assert!((over((0.0, f64::INFINITY), (-1.0, 3.0)) - half).abs() < 1e-10);
        assert!((over((0.0, f64::INFINITY), (2.0, 3.0)) - half).abs() < 1e-10);
        // A box of a hundredth of the width of the bell needs more panels.
        assert!((over_panels((no, 0.0), (-0.01, 0.01), 1024) - half).abs() < 1e-10);
        assert!((over((-8.0, 8.0), (-0.5, 0.1)) - 1.0).abs() < 1e-10);
    }
}
