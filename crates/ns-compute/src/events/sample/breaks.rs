//! Finds the points at which a density may have a jump or a kink, or a jump of its second derivative. A rule for
//! numerical integration is accurate only between such points.

use super::formula::{Formula, FormulaMemory};
use super::whole_formula;
use crate::events::channel::ChannelPlan;

/// Number of equal steps along an observable. The conditions in a formula are evaluated at both ends of each step.
const STEPS: usize = 256;
/// Number of times that a step is halved to locate the point at which a condition changes.
const HALVINGS: usize = 60;
/// Largest number of points along an observable. If a density has more points, such as a histogram with very many bins,
/// no points are returned for this observable.
const MOST: usize = 2000;

/// Returns the points within a box at which the density of a channel may have a jump or a kink. The result has one
/// list per observable, in ascending order. `values` contains the values that the channel uses, and its amplitudes.
///
/// Some of the points are the knots and bin edges of tables. The others are the points at which the result of a
/// comparison in a formula changes, such as the mean of a bifurcated Gaussian. To find these, the comparisons are
/// evaluated along lines through the centre of the box that are parallel to its sides.
pub(in crate::events) fn breaks(
    plan: &ChannelPlan,
    values: (&[f64], &[f64]),
    region: &[(f64, f64)],
) -> Vec<Vec<f64>> {
    let formula = whole_formula(plan, values);
    let mut memory = FormulaMemory::default();
    (0..region.len()).map(|axis| along(&formula, region, axis, &mut memory)).collect()
}

fn along(formula: &Formula, region: &[(f64, f64)], axis: usize, memory: &mut FormulaMemory) -> Vec<f64> {
    let (lo, hi) = region[axis];
    let mut event: Vec<f64> = region.iter().map(|(lo, hi)| 0.5 * (lo + hi)).collect();
    let mut found = formula.breaks(axis);
    let mut comparisons = |x: f64| {
        event[axis] = x;
        formula.comparisons(&event, memory)
    };
    let mut before = (lo, comparisons(lo));
    for step in 1..=STEPS {
        let x = lo + (hi - lo) * step as f64 / STEPS as f64;
        let here = comparisons(x);
        for (which, (old, new)) in before.1.iter().zip(&here).enumerate() {
            if old == new {
                continue;
            }
            let (mut left, mut right) = (before.0, x);
            for _ in 0..HALVINGS {
                let middle = 0.5 * (left + right);
                if comparisons(middle).get(which) == Some(old) { left = middle } else { right = middle }
            }
            found.push(right);
        }
        before = (x, here);
    }
    found.retain(|x| lo < *x && *x < hi);
    found.sort_by(f64::total_cmp);
    let least = 1e-9 * (hi - lo);
    found.dedup_by(|b, a| *b - *a <= least);
    if found.len() > MOST { Vec::new() } else { found }
}
