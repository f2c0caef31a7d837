//! A piecewise constant function above a density that has no formula and can only be evaluated point by point. The
//! density has one or two features (observables).
//!
//! There is no proof that the function is above the density. The height of each cell (piece) is the largest density at
//! points in and around the cell, times a margin. If the density at a drawn point exceeds the height, drawing fails
//! with an error.

use ns_core::LogProb;

/// Number of cells (pieces of constant height) along each feature (observable), for a density of one feature and for a
/// density of two features.
const CELLS: [usize; 2] = [1000, 100];

/// Ratio of the height of a cell (piece of constant height) and the largest density at the points in and around the
/// cell.
const MARGIN: f64 = 1.25;

/// Largest accepted error of a numerical integral of the density, as a fraction of the known integral. The numerical
/// integral is computed from the points at which the density is evaluated.
const COARSE: f64 = 0.02;

const NOT_EVALUATED: &str = "has a neural density that cannot be evaluated everywhere in the fit range";
const TOO_NARROW: &str =
    "has a neural density that is too narrow to be drawn by rejection; add a sampler graph to its manifest";
const TOO_MANY_FEATURES: &str =
    "has a neural density of more than two features and no sampler; add a sampler graph to its manifest";

/// Cells of equal size in a box, each with a height.
#[derive(Debug, Clone)]
pub(super) struct Table {
    sides: Vec<(f64, f64)>,
    cells: usize,
    heights: Vec<f64>,
    /// Cumulative fractions of the area below the heights of the cells (pieces of constant height): element `i` is the
    /// sum of the fractions of the cells 0 to `i`.
    ends: Vec<f64>,
    /// Area below the heights of all cells (pieces of constant height).
    pub(super) area: f64,
}

impl Table {
    /// Creates a table for a density over a box with the given sides. `context` contains the values of the density's
    /// context (the numbers on which it depends besides its features).
    pub(super) fn new(
        density: &dyn LogProb,
        context: &[f64],
        sides: &[(f64, f64)],
    ) -> Result<Self, &'static str> {
        let d = sides.len();
        let cells = *CELLS.get(d.wrapping_sub(1)).ok_or(TOO_MANY_FEATURES)?;
        // The points are at the ends and in the middle of each cell. The coordinate of the last feature varies
        // fastest.
        let points = 2 * cells + 1;
        let total = points.pow(d as u32);
        let at = |index: usize, axis: usize| index / points.pow((d - 1 - axis) as u32) % points;
        let mut rows = Vec::with_capacity(total * d);
        for index in 0..total {
            rows.extend(sides.iter().enumerate().map(|(axis, (lo, hi))| {
                let part = at(index, axis) as f64 / (points - 1) as f64;
                (lo + part * (hi - lo)).min(*hi)
            }));
        }
        let mut values = vec![0.0; total];
        density.log_prob(&rows, context, &mut values).map_err(|_| NOT_EVALUATED)?;
        values.iter_mut().for_each(|x| *x = x.exp());

        let volume: f64 = sides.iter().map(|(lo, hi)| (hi - lo) / cells as f64).product();
        let half = |i: usize| if i == 0 || i == points - 1 { 0.5 } else { 1.0 };
        let weight = |index: usize| (0..d).map(|axis| half(at(index, axis))).product::<f64>();
        let sum: f64 = values.iter().enumerate().map(|(i, p)| weight(i) * p).sum();
        let sum = sum * volume / 2_f64.powi(d as i32);
        let integral = density.integral(sides, context).map_err(|_| NOT_EVALUATED)?.value;
        if !((sum / integral - 1.0).abs() <= COARSE) {
            return Err(TOO_NARROW);
        }

        let mut heights = vec![0.0_f64; cells.pow(d as u32)];
        for (cell, height) in heights.iter_mut().enumerate() {
            let near = |axis: usize| {
                let i = cell / cells.pow((d - 1 - axis) as u32) % cells;
                (2 * i).saturating_sub(1)..=(2 * i + 3).min(points - 1)
            };
            for i in near(0) {
                match d {
                    1 => *height = height.max(values[i]),
                    _ => near(1).for_each(|j| *height = height.max(values[i * points + j])),
                }
            }
            *height *= MARGIN;
        }
        let total: f64 = heights.iter().sum();
        let mut before = 0.0;
        let end = |height: &f64| {
            before += height;
            before / total
        };
        let ends = heights.iter().map(end).collect();
        Ok(Self { sides: sides.to_vec(), cells, heights, ends, area: total * volume })
    }

    /// Appends the coordinates of a proposed point to `point`. The first element of `uniforms` chooses the cell (piece
    /// of constant height), and the others choose the point in the cell. Returns the height of the cell.
    pub(super) fn propose(&self, uniforms: &[f64], point: &mut Vec<f64>) -> f64 {
        let Some((choice, others)) = uniforms.split_first() else { return 0.0 };
        let cell = self.ends.partition_point(|end| end <= choice).min(self.heights.len() - 1);
        let d = self.sides.len();
        for (axis, ((lo, hi), u)) in self.sides.iter().zip(others).enumerate() {
            let i = cell / self.cells.pow((d - 1 - axis) as u32) % self.cells;
            point.push((lo + (i as f64 + u) * ((hi - lo) / self.cells as f64)).min(*hi));
        }
        self.heights[cell]
    }
}
