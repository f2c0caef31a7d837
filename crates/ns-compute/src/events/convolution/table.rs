//! A table of `ln h(x)` and its derivatives along one axis: polynomials on panels that are halved until the terms
//! of `ln h` have fallen.

use ns_core::Observable;

use super::Integrand;
use super::lattice::Lattice;
use super::nodes::{Failure, Nodes};
use super::panels::{NODES, Polynomials, at, groups, node, transform};
use crate::events::integral::{KRONROD, kronrod};
use crate::events::program::{components, pair};
use crate::simd::Level;

/// Number of equal panels at the beginning.
const PANELS: usize = 4;

/// A panel is good if the last two terms of `ln h` are at most this number, relative to 1 and to a hundredth of `ln h`: for
/// an integral over one variable, and over several, which has larger errors.
const TOLERANCE: [f64; 2] = [1e-11, 1e-8];

/// Panels are not halved below this fraction of the axis.
const SHORTEST: f64 = 1.0 / 16_384.0;

/// Values of `h` below this fraction of the largest one are taken to be 0.
pub(super) const LEAST: f64 = 1e-280;

/// Number of equal cells along the axis that know their panel.
const CELLS: usize = 512;

/// The convolution between two places.
#[derive(Debug, Clone)]
struct Panel {
    ends: (f64, f64),
    /// 1 divided by the length.
    inverse: f64,
    /// Whether `h` is 0.
    is_zero: bool,
    /// Integral of `h`, after normalisation, up to the end of the panel.
    until: f64,
}

/// `ln h` on an axis, normalised there.
#[derive(Debug, Clone)]
pub(super) struct Table {
    panels: Vec<Panel>,
    /// The polynomials of `ln h` (value and derivatives), panel after panel. The last ones are those of zero.
    pub(super) polynomials: Vec<Polynomials>,
    /// The first panel of each cell of the axis.
    cells: Vec<u32>,
    cells_per_length: f64,
    axis: (f64, f64),
    pub(super) variables: usize,
    /// Estimate of the relative error of `h`.
    pub(super) error: f64,
}

/// What the values at the nodes of a panel are.
enum Found {
    /// Logarithms, with derivatives.
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

impl Rows<'_> {
    /// Computes the values at the nodes of a panel, node after node.
    fn fill(&mut self, ends: (f64, f64), variables: usize, values: &mut [f64]) -> Result<Found, Failure> {
        let half = 0.5 * (ends.1 - ends.0);
        let place = |j: usize| 0.5 * (ends.0 + ends.1) + half * node(j);
        let size = components(variables);
        let (nodes, largest) = match self {
            Self::Lattice(lattice) => {
                values.chunks_exact_mut(size).enumerate().for_each(|(j, row)| lattice.at(place(j), row));
                return Ok(Found::Logarithms);
            }
            Self::Nodes(nodes, largest) => (nodes, largest),
        };
        for (j, row) in values.chunks_exact_mut(size).enumerate() {
            nodes.at(place(j), row)?;
            *largest = largest.max(row[0]);
        }
        let is_zero = |row: &[f64]| row[0].abs() <= LEAST * *largest;
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
        let lattice = of.factors.as_ref().and_then(|factors| Lattice::new(level, factors, context, axis));
        let rows = match lattice {
            Some(lattice) => Rows::Lattice(lattice),
            None => Rows::Nodes(Box::new(Nodes::new(level, of, context)), 0.0),
        };
        let mut table = Self {
            panels: Vec::new(),
            polynomials: Vec::new(),
            cells: Vec::new(),
            cells_per_length: CELLS as f64 / (axis.max - axis.min),
            axis: (axis.min, axis.max),
            variables: of.program.variables(),
            error: 0.0,
        };
        let lost = table.divide(rows, TOLERANCE[usize::from(of.edges.len() > 1)])?;
        table.normalise(lost)?;
        table.number();
        Ok(table)
    }

    /// Divides the axis into panels until all are good. Returns an upper estimate of what is lost in panels across the edge
    /// of the support that are too short to be halved.
    fn divide(&mut self, mut rows: Rows<'_>, tolerance: f64) -> Result<f64, Failure> {
        let (low, high) = self.axis;
        let (length, step) = (high - low, (high - low) / PANELS as f64);
        let mut open: Vec<(f64, f64)> = (0..PANELS)
            .rev()
            .map(|i| {
                let end = if i + 1 == PANELS { high } else { low + step * (i + 1) as f64 };
                (low + step * i as f64, end)
            })
            .collect();
        let size = self.size();
        let mut values = vec![0.0; NODES * size];
        let mut lost = 0.0;
        while let Some(ends) = open.pop() {
            let half = 0.5 * (ends.1 - ends.0);
            let may_halve = half > SHORTEST * length;
            let panel = |is_zero| Panel { ends, inverse: 1.0 / (ends.1 - ends.0), is_zero, until: 0.0 };
            match rows.fill(ends, self.variables, &mut values)? {
                Found::Edge(_) if may_halve => halve(ends, &mut open),
                Found::Zero => self.push_zero(panel(true)),
                Found::Edge(most) => {
                    lost += 2.0 * half * most;
                    self.push_zero(panel(true));
                }
                Found::Logarithms => {
                    let before = self.polynomials.len();
                    let (tail, first) = transform(&values, size, &mut self.polynomials);
                    if tail > tolerance * (1.0 + 0.01 * first.abs()) && may_halve {
                        self.polynomials.truncate(before);
                        halve(ends, &mut open);
                        continue;
                    }
                    self.error = self.error.max(tail);
                    self.panels.push(panel(false));
                }
            }
        }
        self.error += rows.error();
        Ok(lost)
    }

    fn push_zero(&mut self, panel: Panel) {
        self.panels.push(panel);
        self.push_zeros();
    }

    fn push_zeros(&mut self) {
        for group in 0..groups(self.size()) {
            let mut zero = [0.0; NODES * 8];
            if group == 0 {
                zero[0] = f64::NEG_INFINITY;
            }
            self.polynomials.push(zero);
        }
    }

    /// Returns the number of components: value and derivatives.
    pub(super) fn size(&self) -> usize {
        components(self.variables)
    }

    /// Divides `h` by its integral over the axis, of which `lost` is missing.
    fn normalise(&mut self, lost: f64) -> Result<(), Failure> {
        let mut total = vec![0.0; self.size()];
        let mut sums = Vec::with_capacity(self.panels.len());
        let mut error = 0.0;
        for (index, panel) in self.panels.iter().enumerate() {
            error += self.add(index, panel.ends, &mut total);
            sums.push(total[0]);
        }
        if !(total[0] > 0.0) {
            return Err(Failure::Zero);
        }
        self.error += (error + lost) / total[0];
        for (panel, sum) in self.panels.iter_mut().zip(sums) {
            panel.until = sum / total[0];
        }
        to_logarithm(&mut total, self.variables);
        let groups = groups(total.len());
        for (panel, own) in self.panels.iter().zip(self.polynomials.chunks_exact_mut(groups)) {
            if panel.is_zero {
                continue;
            }
            for (constants, parts) in own.iter_mut().zip(total.chunks(8)) {
                constants.iter_mut().zip(parts).for_each(|(constant, part)| *constant -= part);
            }
        }
        Ok(())
    }

    /// Prepares the search for panels.
    fn number(&mut self) {
        let (low, high) = self.axis;
        let mut panel = 0;
        for cell in 0..CELLS {
            let x = low + (high - low) * cell as f64 / CELLS as f64;
            while panel + 1 < self.panels.len() && self.panels[panel].ends.1 <= x {
                panel += 1;
            }
            self.cells.push(u32::try_from(panel).unwrap_or(u32::MAX));
        }
        self.push_zeros();
    }

    /// Returns the index of the panel at `x`, and the place within it, from -1 to 1. Outside of the axis it is the index
    /// behind the last one, whose polynomials are those of zero.
    #[inline(always)]
    pub(super) fn find(&self, x: f64) -> (usize, f64) {
        let (low, high) = self.axis;
        if !(x >= low && x <= high) {
            return (self.panels.len(), 0.0);
        }
        let cell = ((x - low) * self.cells_per_length) as usize;
        let mut at = self.cells[cell.min(CELLS - 1)] as usize;
        while at > 0 && x < self.panels[at].ends.0 {
            at -= 1;
        }
        while at + 1 < self.panels.len() && x > self.panels[at].ends.1 {
            at += 1;
        }
        (at, self.panels[at].z(x))
    }

    /// Writes the first components of `ln h(x)` (value and derivatives), as many as `out` has, to `out`. Outside of the axis and where `h`
    /// is 0, the logarithm is minus infinity.
    pub(super) fn at(&self, x: f64, out: &mut [f64]) {
        let (panel, z) = self.find(x);
        at(self.of_panel(panel), z, out);
    }

    fn of_panel(&self, panel: usize) -> &[Polynomials] {
        let groups = groups(self.size());
        self.polynomials.get(panel * groups..(panel + 1) * groups).unwrap_or_default()
    }

    /// Adds the integral of `h` over `ends`, with its derivatives, to `out`. Returns an estimate of its error.
    pub(super) fn integrate(&self, ends: (f64, f64), out: &mut [f64]) -> f64 {
        if ends.0 <= self.axis.0 && ends.1 >= self.axis.1 {
            out[0] += 1.0;
            return self.error;
        }
        let mut error = 0.0;
        for (index, panel) in self.panels.iter().enumerate() {
            let part = (ends.0.max(panel.ends.0), ends.1.min(panel.ends.1));
            if part.0 < part.1 {
                error += self.add(index, part, out);
            }
        }
        error + self.error * out[0]
    }

    /// Returns the place up to which the integral of `h` is `share`.
    pub(super) fn place(&self, share: f64) -> f64 {
        let at_panel = self.panels.partition_point(|panel| panel.until < share).min(self.panels.len() - 1);
        let before = if at_panel == 0 { 0.0 } else { self.panels[at_panel - 1].until };
        let panel = &self.panels[at_panel];
        let (wanted, (mut low, mut high)) = (share - before, panel.ends);
        let mut x = low + (high - low) * wanted / (panel.until - before);
        let mut value = [0.0];
        for _ in 0..60 {
            let mut sum = [0.0];
            self.add(at_panel, (panel.ends.0, x), &mut sum);
            let miss = sum[0] - wanted;
            if miss > 0.0 {
                high = x
            } else {
                low = x
            }
            at(self.of_panel(at_panel), panel.z(x), &mut value);
            let next = x - miss / value[0].exp();
            let next = if low < next && next < high { next } else { 0.5 * (low + high) };
            if (next - x).abs() <= 4.0 * f64::EPSILON * x.abs().max(high - low) || next == x {
                return next;
            }
            x = next;
        }
        x
    }

    /// Adds the integral of `h` over a part of a panel to `out`, with its derivatives if `out` has room for them. Returns
    /// the difference of two rules.
    fn add(&self, index: usize, (lo, hi): (f64, f64), out: &mut [f64]) -> f64 {
        let panel = &self.panels[index];
        if panel.is_zero {
            return 0.0;
        }
        let (size, variables, own) = (out.len(), self.variables, self.of_panel(index));
        // Toys ask for the value alone, many times.
        let (mut one, mut all) = ([0.0], if size == 1 { Vec::new() } else { vec![0.0; size] });
        let row = if size == 1 { &mut one[..] } else { &mut all[..] };
        let (mut sum, mut gauss) = (0.0, 0.0);
        for index in 0..KRONROD {
            let (z, weight, other) = kronrod(index);
            at(own, panel.z(0.5 * (lo + hi) + 0.5 * (hi - lo) * z), row);
            let h = row[0].exp();
            let volume = 0.5 * (hi - lo) * h;
            sum += volume * weight;
            gauss += volume * other;
            out[0] += weight * volume;
            if size == 1 {
                continue;
            }
            for i in 0..variables {
                out[1 + i] += weight * volume * row[1 + i];
                for j in 0..=i {
                    let at = pair(variables, i, j);
                    out[at] += weight * volume * (row[at] + row[1 + i] * row[1 + j]);
                }
            }
        }
        // The Kronrod rule is far better than the Gauss rule within it (QUADPACK, section 2.2.4.1).
        let size = sum.abs().max(f64::MIN_POSITIVE);
        size * (200.0 * (sum - gauss).abs() / size).powf(1.5).min(1.0)
    }
}

impl Panel {
    /// Returns the place within the panel, from -1 to 1.
    #[inline(always)]
    fn z(&self, x: f64) -> f64 {
        let (lo, hi) = self.ends;
        ((x - lo) - (hi - x)) * self.inverse
    }
}

fn halve((lo, hi): (f64, f64), open: &mut Vec<(f64, f64)>) {
    let middle = 0.5 * (lo + hi);
    open.extend([(middle, hi), (lo, middle)]);
}

/// Replaces a number and its derivatives by those of its logarithm.
pub(super) fn to_logarithm(row: &mut [f64], variables: usize) {
    let inverse = 1.0 / row[0];
    row[1..].iter_mut().for_each(|x| *x *= inverse);
    for i in 0..variables {
        for j in 0..=i {
            row[pair(variables, i, j)] -= row[1 + i] * row[1 + j];
        }
    }
    row[0] = row[0].ln();
}
