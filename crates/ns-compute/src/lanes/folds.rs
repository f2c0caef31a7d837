//! Starting points in other valleys along parameters of functions.
//!
//! A function such as `1 + a x + b x^2` has the same value at two points, so that `-ln L` of a toy can have a minimum near
//! each of them, at any distance. Parameters along which every function rises or falls throughout need no such search: the
//! expected yields are linear in the value of a function, and `-ln L` has one valley along them.

use super::WIDTH;
use super::descend::{DescentEnd, DescentJob, DescentMemory, FitKind, values};
use crate::plan::Plan;
use crate::shared_constants::{FOLD_VALUES, HIGHEST_VALLEY, MOST_VALLEYS};
use crate::simd::Level;

/// Number of values at which functions are compared, to find out whether they rise or fall throughout.
const COMPARED: usize = 8 * FOLD_VALUES;

/// Half the range of a parameter without finite bounds and without a constraint, in units of `1 + |x|`.
const REACH: f64 = 10.0;

/// Half the range of a constrained parameter, in widths of the constraint.
const WIDTHS: f64 = 5.0;

/// A parameter along which some function turns, and the values that are tried, in ascending order.
#[derive(Debug)]
pub(crate) struct Fold {
    param: usize,
    values: Vec<f64>,
}

/// Returns those of the parameters `free` along which a function that is a factor turns. `point` is the point around which
/// toys scatter, `lower` and `upper` are bounds, and `width` contains the widths of constraints.
pub(super) fn folds(
    level: Level,
    plan: &Plan,
    point: &[f64],
    (lower, upper): (&[f64], &[f64]),
    (free, width): (&[usize], &[Option<f64>]),
) -> Vec<Fold> {
    let bent = plan.factors.bent_parameters();
    let mut memory = plan.factors.lane_memory(WIDTH, false);
    let candidates = free.iter().copied().filter(|p| bent.binary_search(p).is_ok());
    let range = |p: usize| {
        let reach = width[p].map_or(REACH * (1.0 + point[p].abs()), |width| WIDTHS * width);
        let is_free = width[p].is_none();
        let side = |bound: f64, away: f64| if is_free && bound.is_finite() { bound } else { away };
        let (from, to) = (side(lower[p], point[p] - reach), side(upper[p], point[p] + reach));
        (from.max(lower[p]), to.min(upper[p]))
    };
    let at = |(from, to): (f64, f64), i: usize, n: usize| from + (to - from) * (i as f64 + 0.5) / n as f64;
    candidates
        .filter_map(|param| {
            let range = range(param);
            let mut theta = vec![0.0; point.len() * WIDTH];
            for (eight, &x) in theta.as_chunks_mut::<WIDTH>().0.iter_mut().zip(point) {
                eight.fill(x);
            }
            // For each function, its last value, and whether it has risen and fallen.
            let mut seen: Vec<(usize, f64, [bool; 2])> = plan
                .factors
                .all()
                .filter(|&function| plan.factors.parameters(function).contains(&param))
                .map(|function| (function, f64::NAN, [false; 2]))
                .collect();
            for first in (0..COMPARED).step_by(WIDTH) {
                for l in 0..WIDTH {
                    theta[param * WIDTH + l] = at(range, first + l, COMPARED);
                }
                plan.factors.evaluate_lanes(level, &theta, WIDTH, &mut memory);
                for (function, last, [rises, falls]) in &mut seen {
                    for &value in &plan.factors.in_lanes(*function, &memory)[..WIDTH] {
                        *rises |= value > *last;
                        *falls |= value < *last;
                        *last = value;
                    }
                }
            }
            let turns = seen.iter().any(|(_, _, turns)| *turns == [true; 2]);
            turns.then(|| Fold {
                param,
                values: (0..FOLD_VALUES).map(|i| at(range, i, FOLD_VALUES)).collect(),
            })
        })
        .collect()
}

/// Returns starting points of further descents of a toy, whose lowest known minimum is `best`: points in other valleys
/// along single parameters, and the point at which all these parameters are moved.
pub(super) fn starts(
    kind: &FitKind<'_>,
    folds: &[Fold],
    job: &DescentJob<'_>,
    best: &DescentEnd,
    memory: &mut DescentMemory,
) -> Vec<Vec<f64>> {
    let mut starts = Vec::new();
    let mut together = best.theta.clone();
    let mut moved = 0;
    for fold in folds {
        let points: Vec<Vec<f64>> =
            fold.values.iter().map(|&value| with(&best.theta, fold.param, value)).collect();
        // No derivatives are needed here.
        let derivatives = memory.scratch.derivatives.take();
        let heights = values(kind, job, &points, memory);
        memory.scratch.derivatives = derivatives;
        let found = fold.valleys(best.theta[fold.param], &heights, best.value);
        if let Some(&(_, lowest)) = found.first() {
            together[fold.param] = lowest;
            moved += 1;
        }
        starts.extend(found.into_iter().map(|(_, value)| with(&best.theta, fold.param, value)));
    }
    if moved > 1 {
        starts.push(together);
    }
    starts
}

/// Returns `theta` with the value of one parameter replaced.
fn with(theta: &[f64], param: usize, value: f64) -> Vec<f64> {
    let mut point = theta.to_vec();
    point[param] = value;
    point
}

impl Fold {
    /// Returns the index of the parameter.
    #[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
    pub(crate) fn parameter(&self) -> usize {
        self.param
    }

    /// Returns the values that are tried, in ascending order.
    #[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }

    /// Returns the lowest values of the parameter in other valleys than that of `here`, each with the rise of `-ln L`, the
    /// lowest first. `heights` contains `-ln L` at the values that are tried, and `least` its value at the minimum.
    fn valleys(&self, here: f64, heights: &[f64], least: f64) -> Vec<(f64, f64)> {
        let step = match self.values[..] {
            [first, second, ..] => second - first,
            _ => return Vec::new(),
        };
        let height = |i: usize| heights.get(i).copied().unwrap_or(f64::INFINITY);
        let mut found: Vec<(f64, f64)> = Vec::new();
        for (i, &value) in self.values.iter().enumerate() {
            let before = i.checked_sub(1).map_or(f64::INFINITY, height);
            let is_lowest = height(i) <= before && height(i) < height(i + 1);
            let rise = height(i) - least;
            if is_lowest && (value - here).abs() > step && rise < HIGHEST_VALLEY {
                found.push((rise, value));
            }
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        found.truncate(MOST_VALLEYS);
        found
    }
}
