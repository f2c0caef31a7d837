//! Lines of equal height on a grid, found by marching squares, the two-dimensional form of marching cubes
//! (Lorensen and Cline 1987).
//!
//! Lower values are always on the left side of a line. The outlines of a region and of the holes in it
//! therefore run in opposite directions. They can be filled as one path.

use std::collections::{BTreeMap, BTreeSet};

/// A side of a grid cell, given by the column and the row of the cell and a flag. The flag is `true` for the left
/// side and `false` for the lower side.
type Side = (usize, usize, bool);

/// A grid of nodes, with a height at each node.
pub(crate) struct Grid<'a> {
    pub(crate) x: &'a [f64],
    pub(crate) y: &'a [f64],
    /// Heights, indexed `[y][x]`. Lines end at cells with a missing height at a corner.
    pub(crate) values: &'a [Vec<Option<f64>>],
}

impl Grid<'_> {
    /// Returns the lines at the height `level`. A closed line repeats its first point at the end.
    pub(crate) fn lines(&self, level: f64) -> Vec<Vec<(f64, f64)>> {
        trace(self.x, self.y, &|i, j| self.value(i, j), level)
    }

    /// Returns the outlines of the regions below `level`. The outlines are closed along the edges of the grid
    /// and around nodes with a missing height.
    pub(crate) fn regions(&self, level: f64) -> Vec<Vec<(f64, f64)>> {
        // The grid gets an additional ring of nodes of infinite height, at the same positions as its outermost
        // nodes.
        let padded = |values: &[f64]| -> Vec<f64> {
            let (first, last) = (values.first().copied(), values.last().copied());
            first.into_iter().chain(values.iter().copied()).chain(last).collect()
        };
        let height = |i: usize, j: usize| {
            let inner = i.checked_sub(1).zip(j.checked_sub(1)).and_then(|(i, j)| self.value(i, j));
            Some(inner.unwrap_or(f64::INFINITY))
        };
        trace(&padded(self.x), &padded(self.y), &height, level)
    }

    fn value(&self, i: usize, j: usize) -> Option<f64> {
        self.values.get(j)?.get(i).copied().flatten()
    }
}

fn trace(
    x: &[f64],
    y: &[f64],
    height: &dyn Fn(usize, usize) -> Option<f64>,
    level: f64,
) -> Vec<Vec<(f64, f64)>> {
    let mut next: BTreeMap<Side, Side> = BTreeMap::new();
    let mut points: BTreeMap<Side, (f64, f64)> = BTreeMap::new();
    for j in 0..y.len().saturating_sub(1) {
        for i in 0..x.len().saturating_sub(1) {
            let corners = [height(i, j), height(i + 1, j), height(i + 1, j + 1), height(i, j + 1)];
            let [Some(a), Some(b), Some(c), Some(d)] = corners else { continue };
            let sides = [(i, j, false), (i + 1, j, true), (i, j + 1, false), (i, j, true)];
            for (from, to) in cell([a, b, c, d], level) {
                for side in [from, to] {
                    points.entry(sides[side]).or_insert_with(|| {
                        // A side belongs to two cells. Both take the ends of the side in the same order, so
                        // that they compute the same point.
                        let ((u, low), (v, high)) = match side {
                            0 => (((x[i], y[j]), a), ((x[i + 1], y[j]), b)),
                            1 => (((x[i + 1], y[j]), b), ((x[i + 1], y[j + 1]), c)),
                            2 => (((x[i], y[j + 1]), d), ((x[i + 1], y[j + 1]), c)),
                            _ => (((x[i], y[j]), a), ((x[i], y[j + 1]), d)),
                        };
                        crossing(u, low, v, high, level)
                    });
                }
                next.insert(sides[from], sides[to]);
            }
        }
    }
    join(next, &points)
}

/// Returns the lines through a cell of the grid. Each line is given by the side at which it enters the cell and the
/// side at which it leaves the cell (0 lower, 1 right, 2 upper, 3 left). `corners` are the heights at the corners,
/// anticlockwise from the lower left corner.
fn cell(corners: [f64; 4], level: f64) -> Vec<(usize, usize)> {
    let below = corners.map(|height| height < level);
    let index = below.iter().enumerate().map(|(bit, set)| usize::from(*set) << bit).sum::<usize>();
    let middle_below = corners.iter().sum::<f64>() / 4.0 < level;
    match index {
        1 => vec![(0, 3)],
        2 => vec![(1, 0)],
        3 => vec![(1, 3)],
        4 => vec![(2, 1)],
        5 if middle_below => vec![(2, 3), (0, 1)],
        5 => vec![(0, 3), (2, 1)],
        6 => vec![(2, 0)],
        7 => vec![(2, 3)],
        8 => vec![(3, 2)],
        9 => vec![(0, 2)],
        10 if middle_below => vec![(3, 0), (1, 2)],
        10 => vec![(1, 0), (3, 2)],
        11 => vec![(1, 2)],
        12 => vec![(3, 1)],
        13 => vec![(0, 1)],
        14 => vec![(3, 0)],
        _ => Vec::new(),
    }
}

fn crossing(from: (f64, f64), low: f64, to: (f64, f64), high: f64, level: f64) -> (f64, f64) {
    let share = match (low.is_finite(), high.is_finite()) {
        (true, true) => ((level - low) / (high - low)).clamp(0.0, 1.0),
        (true, false) => 0.0,
        _ => 1.0,
    };
    (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1))
}

/// Joins pieces of lines. `next` leads from the place where a piece begins to the place where it ends, and `points` has
/// the positions of the places.
pub(crate) fn join<S: Copy + Ord>(
    mut next: BTreeMap<S, S>,
    points: &BTreeMap<S, (f64, f64)>,
) -> Vec<Vec<(f64, f64)>> {
    let ends: BTreeSet<S> = next.values().copied().collect();
    let open: Vec<S> = next.keys().copied().filter(|start| !ends.contains(start)).collect();
    let mut lines = Vec::new();
    let mut follow = |next: &mut BTreeMap<S, S>, start: S| {
        let mut line: Vec<(f64, f64)> = points.get(&start).copied().into_iter().collect();
        let mut at = start;
        while let Some(to) = next.remove(&at) {
            line.extend(points.get(&to));
            at = to;
        }
        lines.push(line);
    };
    for start in open {
        follow(&mut next, start);
    }
    while let Some(start) = next.keys().next().copied() {
        follow(&mut next, start);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paraboloid(nodes: usize) -> (Vec<f64>, Vec<Vec<Option<f64>>>) {
        let x: Vec<f64> = (0..nodes).map(|i| -4.0 + 8.0 * i as f64 / (nodes - 1) as f64).collect();
        let q = |x: f64, y: f64| Some(x * x + 4.0 * y * y + x * y);
        let values = x.iter().map(|y| x.iter().map(|x| q(*x, *y)).collect()).collect();
        (x, values)
    }

    #[test]
    fn a_paraboloid_has_elliptic_lines() {
        let (x, values) = paraboloid(161);
        let grid = Grid { x: &x, y: &x, values: &values };
        for level in [2.30, 5.99] {
            let lines = grid.lines(level);
            assert_eq!(lines.len(), 1);
            assert_eq!(lines[0].first(), lines[0].last(), "closed");
            for (x, y) in &lines[0] {
                let height = x * x + 4.0 * y * y + x * y;
                assert!((height - level).abs() < 0.012, "{height} at {x} {y}");
            }
            // The shoelace formula gives the area of the ellipse. It is positive because the inside is on the
            // left.
            let area: f64 = lines[0].windows(2).map(|p| 0.5 * (p[0].0 * p[1].1 - p[1].0 * p[0].1)).sum();
            let expected = std::f64::consts::PI * level / (4.0f64 - 0.25).sqrt();
            assert!((area / expected - 1.0).abs() < 2e-3, "{area} {expected}");
        }
    }

    #[test]
    fn lines_end_at_the_edge_and_regions_close_there() {
        let (x, values) = paraboloid(41);
        let grid = Grid { x: &x, y: &x, values: &values };
        let lines = grid.lines(20.0);
        assert!(lines.len() >= 2 && lines.iter().all(|line| line.first() != line.last()));
        assert!(grid.regions(20.0).iter().all(|line| line.first() == line.last()));
        let everything = grid.regions(1e9);
        let area: f64 = everything[0].windows(2).map(|p| 0.5 * (p[0].0 * p[1].1 - p[1].0 * p[0].1)).sum();
        assert!((area - 64.0).abs() < 1e-9, "{area}");
    }

    #[test]
    fn missing_nodes_cut_lines_and_are_left_out_of_regions() {
        let (x, mut values) = paraboloid(41);
        values[20][20] = None;
        let grid = Grid { x: &x, y: &x, values: &values };
        assert_eq!(grid.lines(5.99).len(), 1);
        assert_eq!(grid.regions(5.99).len(), 2, "an outline and a hole");
    }
}
