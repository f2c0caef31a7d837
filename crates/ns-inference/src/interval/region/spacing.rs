//! How well straight lines between the points of a border describe it.

use std::f64::consts::{PI, TAU};

use super::Ray;
use crate::interval::search::Side;

/// Number of directions above which none are added.
const MOST_DIRECTIONS: usize = 4000;

/// Distance from a straight line that is explained by the errors of the points, in units of its error.
const EXPLAINED: f64 = 2.0;

/// Returns the distance of the border in a direction.
pub(super) fn distance(ray: &Ray) -> Option<f64> {
    match &ray.search {
        Some(search) => search.border(Side::Upper, "").value,
        None if ray.room == 0.0 => Some(0.0),
        None => ray.of_law(),
    }
}

/// Returns the error of the distance of the border in a direction.
fn error_of(ray: &Ray) -> f64 {
    ray.search.as_ref().and_then(|search| search.border(Side::Upper, "").error).unwrap_or(0.0)
}

/// The space between a direction and the next one.
struct Gap {
    middle: f64,
    /// Estimated largest distance of the border from a straight line, as a share of the distance from the best fit.
    error: f64,
}

/// Returns the gaps between neighbouring directions. The border between two points is compared with a straight line by
/// leaving out a point: it lies off the line between its neighbours by an amount that grows with the product of the two angles.
/// What the errors of the points explain is no bend.
fn gaps(rays: &[Ray]) -> Vec<Gap> {
    let n = rays.len();
    let angle = |from: &Ray, to: &Ray| (to.angle - from.angle).rem_euclid(TAU);
    let at = |k: usize| rays.get(k % n.max(1));
    // The bend at each point, per square of an angle.
    let bend = |k: usize| -> Option<f64> {
        let (before, ray, after) = (at(k + n - 1)?, at(k)?, at(k + 1)?);
        let (a, b) = (angle(before, ray), angle(ray, after));
        let [left, middle, right] = [distance(before)?, distance(ray)?, distance(after)?];
        // At a bound the border is straight.
        if middle >= ray.room || a + b >= PI || left <= 0.0 || right <= 0.0 {
            return None;
        }
        let chord = left * right * (a + b).sin() / (left * a.sin() + right * b.sin());
        let noise = error_of(ray).hypot(0.5 * error_of(before).hypot(error_of(after)));
        let off = ((middle - chord).abs() - EXPLAINED * noise).max(0.0);
        Some(off / ray.unit() / (a * b))
    };
    let bends: Vec<Option<f64>> = (0..n).map(bend).collect();
    let bend = |k: usize| bends.get(k % n.max(1)).copied().flatten();
    let gap = |k: usize| {
        let (from, to) = (at(k)?, at(k + 1)?);
        let width = angle(from, to);
        let largest = [bend(k), bend(k + 1)].into_iter().flatten().fold(0.0, f64::max);
        // A curve is off the line between the ends of an angle by a quarter of what it is off at the middle of two such angles.
        Some(Gap {
            middle: (from.angle + 0.5 * width).rem_euclid(TAU),
            error: 0.25 * largest * width * width,
        })
    };
    (0..n).filter_map(gap).collect()
}

/// Returns the angles of further directions, where the border bends too much for straight lines.
pub(super) fn between(rays: &[Ray], precision: f64) -> Vec<f64> {
    let wide: Vec<f64> =
        gaps(rays).into_iter().filter(|gap| gap.error > precision).map(|gap| gap.middle).collect();
    if rays.len() + wide.len() > MOST_DIRECTIONS { Vec::new() } else { wide }
}

/// Returns the largest error of the straight lines; `None` if it cannot be estimated.
pub(super) fn error(rays: &[Ray]) -> Option<f64> {
    let all = gaps(rays);
    (all.len() > 3).then(|| all.iter().map(|gap| gap.error).fold(0.0, f64::max))
}
