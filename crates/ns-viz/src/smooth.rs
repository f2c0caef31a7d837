//! Smooth closed curves through few points.

use crate::number::extent;

/// Number of parts of a curve between two points.
const PARTS: usize = 12;

type Point = (f64, f64);

/// Returns a closed curve through points in their order: a cubic between neighbours, whose tangents are those of a centripetal
/// Catmull-Rom spline (E. Catmull and R. Rom, 1974; C. Yuksel, S. Schaefer and J. Keyser, Comput. Aided Des. 43 (2011) 747).
/// Between points on a line parallel to an axis, such as a bound of a parameter, the curve is straight, and it has corners at
/// their ends. The scales of both axes do not matter. Fewer than four points are returned as they are.
pub(crate) fn closed(points: &[Point]) -> Vec<Point> {
    let n = points.len();
    let size = |values: Vec<f64>| extent(values).map_or(0.0, |(low, high)| high - low);
    let (width, height) =
        (size(points.iter().map(|p| p.0).collect()), size(points.iter().map(|p| p.1).collect()));
    if n < 4 || !(width > 0.0 && height > 0.0) {
        return points.to_vec();
    }
    let at = |i: usize| points.get(i % n).map_or((0.0, 0.0), |(x, y)| (x / width, y / height));
    let is_straight = |i: usize| {
        let (a, b) = (at(i), at(i + 1));
        (a.0 - b.0).abs() <= 1e-9 || (a.1 - b.1).abs() <= 1e-9
    };
    let mut curve = Vec::with_capacity(n * PARTS);
    for i in 0..n {
        let (from, to) = (at(i), at(i + 1));
        let parts = if is_straight(i) { 1 } else { PARTS };
        // At a corner the curve begins in the direction of its next point.
        let before = if is_straight(i + n - 1) { beyond(from, to) } else { at(i + n - 1) };
        let after = if is_straight(i + 1) { beyond(to, from) } else { at(i + 2) };
        let tangents = tangents([before, from, to, after]);
        curve.extend((0..parts).map(|part| {
            let (x, y) = between(from, to, tangents, part as f64 / parts as f64);
            (x * width, y * height)
        }));
    }
    curve
}

/// Returns the point as far beyond `end` as `other` is before it.
fn beyond(end: Point, other: Point) -> Point {
    (2.0 * end.0 - other.0, 2.0 * end.1 - other.1)
}

/// Returns the tangents at the two middle ones of four points.
fn tangents([a, b, c, d]: [Point; 4]) -> [Point; 2] {
    // Steps of the parameter of a centripetal spline.
    let step = |p: Point, q: Point| (q.0 - p.0).hypot(q.1 - p.1).sqrt().max(1e-12);
    let (ab, bc, cd) = (step(a, b), step(b, c), step(c, d));
    let along = |f: fn(Point) -> f64| {
        let slope = |p: Point, q: Point, step: f64| (f(q) - f(p)) / step;
        let middle = slope(b, c, bc);
        [
            bc * (slope(a, b, ab) - slope(a, c, ab + bc) + middle),
            bc * (middle - slope(b, d, bc + cd) + slope(c, d, cd)),
        ]
    };
    let (x, y) = (along(|p| p.0), along(|p| p.1));
    [(x[0], y[0]), (x[1], y[1])]
}

/// Returns the point at `s` of the cubic from one point (`s` = 0) to another (1) with these tangents.
fn between(from: Point, to: Point, [start, end]: [Point; 2], s: f64) -> Point {
    let (s2, s3) = (s * s, s * s * s);
    let weights = [2.0 * s3 - 3.0 * s2 + 1.0, s3 - 2.0 * s2 + s, 3.0 * s2 - 2.0 * s3, s3 - s2];
    let mix = |parts: [f64; 4]| weights.iter().zip(parts).map(|(weight, part)| weight * part).sum();
    (mix([from.0, start.0, to.0, end.0]), mix([from.1, start.1, to.1, end.1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circle(n: usize) -> Vec<Point> {
        let angle = |i: usize| std::f64::consts::TAU * (i as f64 + 0.3) / n as f64;
        (0..n).map(|i| (3.0 + angle(i).cos(), 100.0 * angle(i).sin())).collect()
    }

    fn distance(curve: &[Point]) -> f64 {
        let off = |(x, y): &Point| ((x - 3.0).hypot(y / 100.0) - 1.0).abs();
        curve.iter().map(off).fold(0.0, f64::max)
    }

    #[test]
    fn a_circle_of_sixteen_points_is_round() {
        let curve = closed(&circle(16));
        assert_eq!(curve.len(), 16 * PARTS);
        // The polygon is 0.019 away from the circle.
        assert!(distance(&curve) < 1e-3, "{}", distance(&curve));
        for point in circle(16) {
            assert!(curve.iter().any(|(x, y)| (x - point.0).abs() < 1e-12 && (y - point.1).abs() < 1e-9));
        }
    }

    #[test]
    fn a_bound_stays_straight() {
        // A half circle that ends at the bound x = 3.
        let mut points = vec![(3.0, -100.0), (3.0, 0.0), (3.0, 100.0)];
        points.extend((1..8).map(|i| {
            let angle = std::f64::consts::FRAC_PI_2 - std::f64::consts::PI * f64::from(i) / 8.0;
            (3.0 + angle.cos(), 100.0 * angle.sin())
        }));
        let curve = closed(&points);
        assert!(curve.iter().all(|(x, _)| *x >= 3.0 - 1e-9), "{curve:?}");
        assert!(distance(&curve.iter().filter(|p| p.0 > 3.0 + 1e-9).copied().collect::<Vec<_>>()) < 0.02);
        assert_eq!(closed(&points[..3]), points[..3]);
    }
}
