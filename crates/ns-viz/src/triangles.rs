//! Lines and regions of linear functions on a triangulation of scattered points.

use std::collections::BTreeMap;

use delaunator::{Point, triangulate};

use crate::marching::join;

/// A side of a triangle, given by the indices of its two points in ascending order.
type Side = (usize, usize);

/// A point of a polygon, with the two functions there.
type Corner = ((f64, f64), [f64; 2]);

/// A Delaunay triangulation of points on the page. Functions are linear within each triangle.
pub(crate) struct Triangles<'a> {
    points: &'a [(f64, f64)],
    corners: Vec<[usize; 3]>,
}

impl<'a> Triangles<'a> {
    /// Connects the points. There are no triangles between points on a line. All coordinates must be finite.
    pub(crate) fn of(points: &'a [(f64, f64)]) -> Self {
        let sites: Vec<Point> = points.iter().map(|&(x, y)| Point { x, y }).collect();
        let corners = triangulate(&sites)
            .triangles
            .chunks_exact(3)
            .map(|corners| [corners[0], corners[1], corners[2]])
            .filter(|corners| !is_flat(points, corners))
            .collect();
        Self { points, corners }
    }

    /// Returns the lines at which a function is 0. `heights` has its value at each point. A closed line repeats its first
    /// point at the end.
    pub(crate) fn lines(&self, heights: &[f64]) -> Vec<Vec<(f64, f64)>> {
        let height = |i: usize| heights.get(i).copied().unwrap_or(f64::NAN);
        let mut next: BTreeMap<Side, Side> = BTreeMap::new();
        let mut crossings: BTreeMap<Side, (f64, f64)> = BTreeMap::new();
        for corners in &self.corners {
            let (mut out, mut back) = (None, None);
            for (i, j) in [(0, 1), (1, 2), (2, 0)].map(|(i, j)| (corners[i], corners[j])) {
                let side = (i.min(j), i.max(j));
                match (height(i) < 0.0, height(j) < 0.0) {
                    (true, false) => out = Some(side),
                    (false, true) => back = Some(side),
                    _ => continue,
                }
                let (Some(&from), Some(&to)) = (self.points.get(side.0), self.points.get(side.1)) else {
                    continue;
                };
                crossings.insert(side, zero(from, height(side.0), to, height(side.1)));
            }
            // All triangles have the same sense of rotation, so a line leaves one where it enters the next.
            if let (Some(out), Some(back)) = (out, back) {
                next.insert(out, back);
            }
        }
        join(next, &crossings)
    }

    /// Returns polygons that together cover the region in which the function `low` is below 0 and the function `high` is
    /// not. All polygons have the same sense of rotation.
    pub(crate) fn between(&self, low: &[f64], high: &[f64]) -> Vec<Vec<(f64, f64)>> {
        let corner = |i: &usize| Some((*self.points.get(*i)?, [*low.get(*i)?, -*high.get(*i)?]));
        let clipped = |corners: &[usize; 3]| -> Option<Vec<(f64, f64)>> {
            let triangle: Vec<Corner> = corners.iter().map(corner).collect::<Option<_>>()?;
            let part = below(&below(&triangle, 0), 1);
            (part.len() > 2).then(|| part.into_iter().map(|(place, _)| place).collect())
        };
        self.corners.iter().filter_map(clipped).collect()
    }
}

/// Smallest height of a triangle, divided by its longest side. Rounding gives points on a line flatter triangles.
const FLATTEST: f64 = 1e-6;

fn is_flat(points: &[(f64, f64)], corners: &[usize; 3]) -> bool {
    let [Some(a), Some(b), Some(c)] = corners.map(|i| points.get(i)) else { return true };
    let doubled = (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0);
    let sides = [(a, b), (b, c), (c, a)].map(|(p, q)| (p.0 - q.0).hypot(p.1 - q.1));
    doubled.abs() <= FLATTEST * sides.into_iter().fold(0.0, f64::max).powi(2)
}

/// Returns the part of a convex polygon in which a function is not above 0 (Sutherland and Hodgman 1974).
fn below(polygon: &[Corner], function: usize) -> Vec<Corner> {
    let mut part = Vec::with_capacity(polygon.len() + 1);
    for (i, &(place, heights)) in polygon.iter().enumerate() {
        let Some(&(after, beyond)) = polygon.get((i + 1) % polygon.len()) else { continue };
        let (here, there) = (heights[function], beyond[function]);
        if here <= 0.0 {
            part.push((place, heights));
        }
        if (here <= 0.0) != (there <= 0.0) {
            let share = here / (here - there);
            let mix = |a: f64, b: f64| a + share * (b - a);
            let place = (mix(place.0, after.0), mix(place.1, after.1));
            part.push((place, [mix(heights[0], beyond[0]), mix(heights[1], beyond[1])]));
        }
    }
    part
}

/// Returns where a linear function is 0 between two points with values of different signs.
fn zero(from: (f64, f64), low: f64, to: (f64, f64), high: f64) -> (f64, f64) {
    let share = (low / (low - high)).clamp(0.0, 1.0);
    (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square(side: usize) -> Vec<(f64, f64)> {
        (0..side * side).map(|i| ((i % side) as f64, (i / side) as f64)).collect()
    }

    fn area(polygon: &[(f64, f64)]) -> f64 {
        let n = polygon.len();
        (0..n).map(|i| (polygon[i], polygon[(i + 1) % n])).map(|(a, b)| 0.5 * (a.0 * b.1 - b.0 * a.1)).sum()
    }

    #[test]
    fn a_circle_is_one_closed_line() {
        let points = square(21);
        let heights: Vec<f64> = points.iter().map(|(x, y)| (x - 10.0).hypot(y - 10.0) - 6.0).collect();
        let lines = Triangles::of(&points).lines(&heights);
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].first(), lines[0].last());
        for (x, y) in &lines[0] {
            assert!(((x - 10.0).hypot(y - 10.0) - 6.0).abs() < 0.05, "{x} {y}");
        }
    }

    #[test]
    fn the_region_between_two_lines_has_their_area() {
        let points = square(9);
        let (low, high): (Vec<f64>, Vec<f64>) = points.iter().map(|(x, _)| (x - 5.3, x - 2.1)).unzip();
        let polygons = Triangles::of(&points).between(&low, &high);
        let areas: Vec<f64> = polygons.iter().map(|polygon| area(polygon)).collect();
        assert!(areas.iter().all(|part| part.signum() == areas[0].signum()), "one sense of rotation");
        assert!((areas.iter().sum::<f64>().abs() - 3.2 * 8.0).abs() < 1e-9);
    }

    #[test]
    fn points_on_a_line_have_no_triangles() {
        for points in
            [vec![], vec![(1.0, 1.0)], vec![(0.0, 0.0), (0.1, 0.1), (0.3, 0.1 + 0.2)], vec![(1.0, 1.0); 4]]
        {
            let heights: Vec<f64> = (0..points.len()).map(|i| i as f64 - 0.5).collect();
            let triangles = Triangles::of(&points);
            assert!(triangles.lines(&heights).is_empty() && triangles.between(&heights, &heights).is_empty());
        }
    }
}
