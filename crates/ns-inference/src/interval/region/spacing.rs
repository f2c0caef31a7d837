//! How well straight lines between the points of a border describe it.

use std::f64::consts::{PI, TAU};

use super::{Axes, Ray};
use crate::interval::search::Side;

/// Number of directions above which none are added.
const MOST_DIRECTIONS: usize = 4000;

/// Distance from a straight line that is explained by the errors of the points, in units of its error.
const EXPLAINED: f64 = 2.0;

/// Smallest angle between a direction and a corner of the bounds that is not in this direction.
const APART: f64 = 1e-9;

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

/// Returns the distance, at the angle `a` from the first of two points and `b` before the second, of the straight line between
/// them. It is 0 if the line does not pass there.
fn chord((left, right): (f64, f64), (a, b): (f64, f64)) -> f64 {
    let sum = left * a.sin() + right * b.sin();
    if a + b < PI && sum > 0.0 { left * right * (a + b).sin() / sum } else { 0.0 }
}

/// The space between a direction and the next one.
struct Gap {
    /// Angle of the direction that is to be added if the error is too large or unknown; `None` if the border was not found at an
    /// end, where more directions would not help.
    place: Option<f64>,
    /// Estimated largest distance of the border from a straight line, as a share of the distance from the best fit; `None` if
    /// it cannot be estimated.
    error: Option<f64>,
}

/// Returns the gaps between neighbouring directions. The border between two points is compared with a straight line by
/// leaving out a point: it lies off the line between its neighbours by an amount that grows with the product of the two angles.
/// What the errors of the points explain is no bend.
fn gaps(axes: &Axes, rays: &[Ray]) -> Vec<Gap> {
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
        let noise = error_of(ray).hypot(0.5 * error_of(before).hypot(error_of(after)));
        let off = ((middle - chord((left, right), (a, b))).abs() - EXPLAINED * noise).max(0.0);
        Some(off / ray.unit() / (a * b))
    };
    let bends: Vec<Option<f64>> = (0..n).map(bend).collect();
    let bend = |k: usize| bends.get(k % n.max(1)).copied().flatten();
    let point = |ray: &Ray| distance(ray).map(|far| axes.point(ray.direction, far));
    let gap = |k: usize| {
        let (from, to) = (at(k)?, at(k + 1)?);
        let width = angle(from, to);
        let largest = [bend(k), bend(k + 1)].into_iter().flatten().reduce(f64::max);
        // A curve is off the line between the ends of an angle by a quarter of what it is off at the middle of two such angles.
        let bent = largest.map(|largest| 0.25 * largest * width * width);
        let ends = point(from).zip(point(to));
        let straight = ends.is_some_and(|(a, b)| axes.on_one_bound(a, b));
        let middle = ends.map(|_| (from.angle + 0.5 * width).rem_euclid(TAU));
        Some(match corner(axes, from, to) {
            Some((place, off)) if bent.is_none_or(|bent| off >= bent) => {
                Gap { place: Some(place), error: Some(off) }
            }
            _ => Gap { place: middle, error: bent.or(straight.then_some(0.0)) },
        })
    };
    (0..n).filter_map(gap).collect()
}

/// Returns the angle of the corner of the bounds between two directions that lies farthest from the straight line between their
/// points, and how far it is off this line. `None` if there is no corner, or both points lie inside the bounds. As long as no
/// direction leads to the corner, the border may go to it.
fn corner(axes: &Axes, from: &Ray, to: &Ray) -> Option<(f64, f64)> {
    let (left, right) = (distance(from)?, distance(to)?);
    if left < from.room && right < to.room {
        return None;
    }
    let width = (to.angle - from.angle).rem_euclid(TAU);
    let off = |(angle, far): (f64, f64)| {
        let a = (angle - from.angle).rem_euclid(TAU);
        let line = chord((left, right), (a, width - a));
        (a > APART && a < width - APART).then(|| (angle, (far - line).max(0.0) / far.min(1.0)))
    };
    axes.corners().into_iter().filter_map(off).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Returns the angles of further directions: where the border bends too much for straight lines, where a corner of the bounds
/// may be cut off, and where nothing is known between two points.
pub(super) fn between(axes: &Axes, rays: &[Ray], precision: f64) -> Vec<f64> {
    let wide = gaps(axes, rays).into_iter().filter(|gap| gap.error.is_none_or(|error| error > precision));
    let wide: Vec<f64> = wide.filter_map(|gap| gap.place).collect();
    if rays.len() + wide.len() > MOST_DIRECTIONS { Vec::new() } else { wide }
}

/// Returns the largest error of the straight lines; `None` if it cannot be estimated between some directions.
pub(super) fn error(axes: &Axes, rays: &[Ray]) -> Option<f64> {
    let all = gaps(axes, rays);
    if all.len() <= 3 {
        return None;
    }
    all.iter().map(|gap| gap.error).try_fold(0.0, |most, error| Some(f64::max(most, error?)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::interval::region::Law;

    /// Coordinates in which distances are those of the parameters, with the best fit at (1, 25).
    fn axes() -> Axes {
        Axes { best: [1.0, 25.0], factor: [[1.0, 0.0], [0.0, 1.0]], bounds: [(0.0, 10.0), (0.0, 50.0)] }
    }

    fn ray(axes: &Axes, angle: f64, law: Law) -> Ray {
        let direction = axes.direction(angle);
        Ray { angle, direction, room: axes.room(direction), law, search: None }
    }

    /// Searches a likelihood that is `law` at each angle, and returns the directions.
    fn searched(axes: &Axes, law: impl Fn(f64) -> Law) -> Vec<Ray> {
        let mut rays: Vec<Ray> = Vec::new();
        let mut angles = axes.angles(16);
        while !angles.is_empty() {
            rays.extend(angles.iter().map(|angle| ray(axes, *angle, law(*angle))));
            rays.sort_by(|a, b| a.angle.total_cmp(&b.angle));
            angles = between(axes, &rays, 0.05);
        }
        rays
    }

    #[test]
    fn corners_of_a_flat_likelihood_are_not_cut_off() {
        let axes = axes();
        let first: Vec<Ray> =
            axes.angles(16).into_iter().map(|angle| ray(&axes, angle, Law::Bound)).collect();
        assert!(error(&axes, &first).unwrap() > 1.0);
        let rays = searched(&axes, |_| Law::Bound);
        assert_eq!(error(&axes, &rays), Some(0.0));
        let border: Vec<[f64; 2]> =
            rays.iter().map(|ray| axes.point(ray.direction, distance(ray).unwrap())).collect();
        for corner in [[0.0, 0.0], [0.0, 50.0], [10.0, 0.0], [10.0, 50.0]] {
            let is_near = |at: &[f64; 2]| (at[0] - corner[0]).abs().max((at[1] - corner[1]).abs()) < 1e-9;
            assert!(border.iter().any(is_near), "{corner:?} in {border:?}");
        }
        // One direction leads to each corner.
        assert!(rays.len() <= first.len() + 4, "{}", rays.len());
    }

    #[test]
    fn corners_beyond_the_border_add_few_directions() {
        // A circle that a bound cuts.
        let axes = axes();
        let law = |angle: f64| if axes.room(axes.direction(angle)) < 2.0 { Law::Bound } else { Law::At(2.0) };
        let rays = searched(&axes, law);
        assert!(error(&axes, &rays).unwrap() <= 0.05);
        assert!(rays.len() < 60, "{}", rays.len());
    }

    #[test]
    fn an_unknown_gap_is_not_without_error() {
        let axes = axes();
        let law = |angle: f64| if angle > 0.1 && angle < 1.5 { Law::Never } else { Law::At(0.5) };
        let rays: Vec<Ray> = axes.angles(16).into_iter().map(|angle| ray(&axes, angle, law(angle))).collect();
        assert_eq!(error(&axes, &rays), None);
        // Directions in which the border was not found are not followed by more of them.
        assert!(between(&axes, &rays, 0.05).is_empty());
    }
}
