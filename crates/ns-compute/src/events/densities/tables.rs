//! Densities that are given by tables of numbers: histograms and splines.

use crate::events::program::{Builder, Slot, Step, Table};

/// Appends to the program `b` the steps that look up the value of a histogram. Returns the slot (the index) of the
/// result.
pub(super) fn histogram(b: &mut Builder, observables: &[usize], edges: &[Vec<f64>], heights: &[f64]) -> Slot {
    let table = b.table(Table::Histogram {
        observables: observables.to_vec(),
        edges: edges.to_vec(),
        heights: heights.to_vec(),
    });
    b.push(Step::Table(table, 0))
}

/// Computes the integral of a histogram over a box, and appends it to the program `b` as a constant. Returns the slot
/// (the index) of the constant. `sides` contains the ends of the box along each axis.
pub(super) fn histogram_integral(
    b: &mut Builder,
    edges: &[Vec<f64>],
    heights: &[f64],
    sides: &[(f64, f64)],
) -> Slot {
    // For each axis and bin, the length of the overlap of the bin with the box.
    let overlaps: Vec<Vec<f64>> = edges
        .iter()
        .zip(sides)
        .map(|(edges, (lo, hi))| {
            edges.windows(2).map(|pair| (hi.min(pair[1]) - lo.max(pair[0])).max(0.0)).collect()
        })
        .collect();
    let mut total = 0.0;
    for (index, height) in heights.iter().enumerate() {
        let (mut rest, mut volume) = (index, 1.0);
        for lengths in overlaps.iter().rev() {
            volume *= lengths[rest % lengths.len()];
            rest /= lengths.len();
        }
        total += height * volume;
    }
    b.number(total)
}

/// Appends to the program `b` the steps that compute a spline. Returns the slot (the index) of the result. `values`
/// contains the slots of the spline's values at its knots.
pub(super) fn spline(b: &mut Builder, x: usize, knots: &[f64], values: &[Slot]) -> Slot {
    let table = b.table(Table::spline(x, knots));
    let mut sum = b.number(0.0);
    for (row, &value) in values.iter().enumerate() {
        let basis = b.push(Step::Table(table, row));
        let term = b.mul(value, basis);
        sum = b.add(sum, term);
    }
    sum
}

/// Appends to the program `b` the steps that compute the integral of a spline over `lo..hi`. Returns the slot (the
/// index) of the result.
pub(super) fn spline_integral(b: &mut Builder, knots: &[f64], values: &[Slot], ends: (f64, f64)) -> Slot {
    let table = Table::spline(0, knots);
    let mut sum = b.number(0.0);
    for (row, &value) in values.iter().enumerate() {
        let term = b.scale(table.spline_integral(row, ends), value);
        sum = b.add(sum, term);
    }
    sum
}
