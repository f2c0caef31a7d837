//! Divides the axis of a table into panels, which are halved until the terms of `ln h` have fallen.

use ns_core::Observable;

use super::Integrand;
use super::lattice::Lattice;
use super::nodes::{Failure, Nodes};
use super::panels::{NODES, node, tail, transform};
use super::smooth::lattice;
use super::table::{LEAST, Panel, Table, to_logarithm};
use crate::simd::Level;

/// Number of equal panels at the beginning.
const PANELS: usize = 4;

/// A panel is good if the last two terms of `ln h` are at most this number, relative to 1 and to a hundredth of `ln h`: for
/// an integral over one variable, and over several, which has larger errors.
const TOLERANCE: [f64; 2] = [1e-11, 1e-8];

/// Panels are not halved below this fraction of the axis.
const SHORTEST: f64 = 1.0 / 16_384.0;

/// Smaller values are taken to be 0 too: doubles near the smallest one have few digits, and their reciprocals are infinite.
const SMALLEST: f64 = 1e-290;

/// What the values at the nodes of a panel are.
enum Found {
    /// Logarithms.
    Logarithms,
    /// Zero everywhere.
    Zero,
    /// Zero at some nodes; the largest value is given.
    Edge(f64),
}

/// Where the values at the nodes come from.
enum Rows<'a> {
    Lattice(Lattice),
    Nodes(Box<Nodes<'a>>, f64),
}

impl<'a> Rows<'a> {
    fn new(level: Level, of: &'a Integrand, context: &'a [f64], axis: &Observable) -> Self {
        let lattice = of.factors.as_ref().and_then(|factors| lattice(level, factors, context, axis));
        match lattice {
            Some(lattice) => Self::Lattice(lattice),
            None => Self::Nodes(Box::new(Nodes::new(level, of, context)), 0.0),
        }
    }

    /// Returns the ends between which `h` is not known to be zero, and an upper estimate of its integral beyond them.
    fn ends(&self, axis: (f64, f64)) -> ((f64, f64), f64) {
        match self {
            Self::Lattice(lattice) => (lattice.ends, lattice.beyond),
            Self::Nodes(..) => (axis, 0.0),
        }
    }

    /// Computes the values at the nodes of a panel, node after node, and the derivatives if they cost nothing.
    fn fill(&mut self, ends: (f64, f64), table: &Table, values: &mut [f64]) -> Result<Found, Failure> {
        let (size, variables) = (table.size(), table.variables);
        let (nodes, largest) = match self {
            Self::Lattice(lattice) => {
                let rows = values.chunks_exact_mut(size).enumerate();
                rows.for_each(|(j, row)| lattice.at(place(ends, j), &mut row[..1]));
                return Ok(Found::Logarithms);
            }
            Self::Nodes(nodes, largest) => (nodes, largest),
        };
        for (j, row) in values.chunks_exact_mut(size).enumerate() {
            nodes.at(place(ends, j), row)?;
            *largest = largest.max(row[0]);
        }
        let least = (LEAST * *largest).max(SMALLEST);
        let is_zero = |row: &[f64]| row[0].abs() <= least;
        let rows = || values.chunks_exact(size);
        if rows().any(|row| row[0] < 0.0 && !is_zero(row)) {
            return Err(Failure::Negative);
        }
        if rows().all(is_zero) {
            return Ok(Found::Zero);
        }
        if rows().any(is_zero) {
            return Ok(Found::Edge(rows().map(|row| row[0]).fold(0.0, f64::max)));
        }
        values.chunks_exact_mut(size).for_each(|row| to_logarithm(row, variables));
        Ok(Found::Logarithms)
    }

    /// Computes the derivatives that [`Self::fill`] has left out.
    fn complete(&self, ends: (f64, f64), size: usize, values: &mut [f64]) {
        if let Self::Lattice(lattice) = self {
            let rows = values.chunks_exact_mut(size).enumerate();
            rows.for_each(|(j, row)| lattice.at(place(ends, j), row));
        }
    }

    fn error(&self) -> f64 {
        match self {
            Self::Lattice(lattice) => lattice.error,
            Self::Nodes(nodes, _) => nodes.error,
        }
    }
}

impl Table {
    /// Computes the table. `context` has the values of the variables of the integrand.
    ///
    /// # Errors
    /// If the convolution is not a density.
    pub(super) fn new(
        level: Level,
        of: &Integrand,
        context: &[f64],
        axis: &Observable,
    ) -> Result<Self, Failure> {
        let mut table = Self::empty((axis.min, axis.max), of.program.variables());
        let lost = table.divide(Rows::new(level, of, context, axis), of.edges.len())?;
        table.normalise(lost)?;
        table.number();
        Ok(table)
    }

    /// Divides the axis into panels until all are good. Returns an upper estimate of what is lost in panels across the edge
    /// of the support that are too short to be halved. The integral is over as many `dimensions`.
    fn divide(&mut self, mut rows: Rows<'_>, dimensions: usize) -> Result<f64, Failure> {
        let tolerance = TOLERANCE[usize::from(dimensions > 1)];
        let shortest = SHORTEST * (self.axis.1 - self.axis.0);
        let ((low, high), mut lost) = rows.ends(self.axis);
        let step = (high - low) / PANELS as f64;
        let mut open: Vec<(f64, f64)> = (0..PANELS)
            .rev()
            .map(|i| {
                let end = if i + 1 == PANELS { high } else { low + step * (i + 1) as f64 };
                (low + step * i as f64, end)
            })
            .collect();
        let size = self.size();
        let mut values = vec![0.0; NODES * size];
        if low > self.axis.0 {
            self.push_zero((self.axis.0, low));
        }
        while let Some(ends) = open.pop() {
            let may_halve = ends.1 - ends.0 > 2.0 * shortest;
            match rows.fill(ends, self, &mut values)? {
                Found::Edge(_) if may_halve => halve(ends, &mut open),
                Found::Zero => self.push_zero(ends),
                Found::Edge(most) => {
                    lost += (ends.1 - ends.0) * most;
                    self.push_zero(ends);
                }
                Found::Logarithms => {
                    let (tail, first) = tail(&values, size);
                    if tail > tolerance * (1.0 + 0.01 * first.abs()) && may_halve {
                        halve(ends, &mut open);
                        continue;
                    }
                    rows.complete(ends, size, &mut values);
                    transform(&values, size, &mut self.polynomials);
                    self.error = self.error.max(tail);
                    self.panels.push(Panel::new(ends, false));
                }
            }
        }
        if high < self.axis.1 {
            self.push_zero((high, self.axis.1));
        }
        self.error += rows.error();
        Ok(lost)
    }
}

/// Returns the place of a node of a panel.
fn place(ends: (f64, f64), j: usize) -> f64 {
    0.5 * (ends.0 + ends.1) + 0.5 * (ends.1 - ends.0) * node(j)
}

fn halve((lo, hi): (f64, f64), open: &mut Vec<(f64, f64)>) {
    let middle = 0.5 * (lo + hi);
    open.extend([(middle, hi), (lo, middle)]);
}
