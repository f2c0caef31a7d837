//! A table of `ln h(x)` and its derivatives along one axis: polynomials on panels. How the axis is divided into panels is said in
//! `divide`.

use super::nodes::Failure;
use super::panels::{NODES, Polynomials, at, groups};
use crate::events::integral::{KRONROD, kronrod};
use crate::events::program::{components, pair};

/// Values of `h` below this fraction of the largest one are taken to be 0.
pub(super) const LEAST: f64 = 1e-280;

/// Parts of a panel are halved until the error of their integral is at most this fraction of the whole, and at most so often.
const ENOUGH: f64 = 1e-13;
const HALVINGS: usize = 12;

/// Number of equal cells along the axis that know their panel.
const CELLS: usize = 512;

/// The convolution between two places.
#[derive(Debug, Clone)]
pub(super) struct Panel {
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
    pub(super) panels: Vec<Panel>,
    /// The polynomials of `ln h` (value and derivatives), panel after panel. The last ones are those of zero.
    pub(super) polynomials: Vec<Polynomials>,
    /// The first panel of each cell of the axis.
    cells: Vec<u32>,
    cells_per_length: f64,
    pub(super) axis: (f64, f64),
    pub(super) variables: usize,
    /// Estimate of the relative error of `h`.
    pub(super) error: f64,
}

impl Table {
    /// Returns a table without panels.
    pub(super) fn empty(axis: (f64, f64), variables: usize) -> Self {
        Self {
            panels: Vec::new(),
            polynomials: Vec::new(),
            cells: Vec::new(),
            cells_per_length: CELLS as f64 / (axis.1 - axis.0),
            axis,
            variables,
            error: 0.0,
        }
    }

    /// Appends a panel on which `h` is 0.
    pub(super) fn push_zero(&mut self, ends: (f64, f64)) {
        self.panels.push(Panel::new(ends, true));
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
    pub(super) fn normalise(&mut self, lost: f64) -> Result<(), Failure> {
        let mut rough = [0.0];
        for (index, panel) in self.panels.iter().enumerate() {
            self.add(index, panel.ends, f64::INFINITY, &mut rough);
        }
        let mut total = vec![0.0; self.size()];
        let mut sums = Vec::with_capacity(self.panels.len());
        let mut error = 0.0;
        for (index, panel) in self.panels.iter().enumerate() {
            error += self.add(index, panel.ends, ENOUGH * rough[0], &mut total);
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
    pub(super) fn number(&mut self) {
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
                error += self.add(index, part, ENOUGH, out);
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
            self.add(at_panel, (panel.ends.0, x), ENOUGH, &mut sum);
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

    /// Adds the integral of `h` over a part of a panel to `out`, with its derivatives if `out` has room for them. The part is halved
    /// until the difference of two rules is at most `enough`. Returns this difference.
    fn add(&self, index: usize, part: (f64, f64), enough: f64, out: &mut [f64]) -> f64 {
        // Toys ask for the value alone, many times.
        let (mut one, mut all) = ([0.0], if out.len() == 1 { Vec::new() } else { vec![0.0; out.len()] });
        let row = if out.len() == 1 { &mut one[..] } else { &mut all[..] };
        if self.panels[index].is_zero { 0.0 } else { self.halves(index, part, (enough, HALVINGS), row, out) }
    }

    fn halves(
        &self,
        index: usize,
        (lo, hi): (f64, f64),
        (enough, halvings): (f64, usize),
        row: &mut [f64],
        out: &mut [f64],
    ) -> f64 {
        let (panel, own) = (&self.panels[index], self.of_panel(index));
        let place = |z: f64| panel.z(0.5 * (lo + hi) + 0.5 * (hi - lo) * z);
        let (mut sum, mut gauss) = (0.0, 0.0);
        for index in 0..KRONROD {
            let (z, weight, other) = kronrod(index);
            at(own, place(z), &mut row[..1]);
            let volume = 0.5 * (hi - lo) * row[0].exp();
            sum += volume * weight;
            gauss += volume * other;
        }
        // The Kronrod rule is far better than the Gauss rule within it (QUADPACK, section 2.2.4.1).
        let size = sum.abs().max(f64::MIN_POSITIVE);
        let error = size * (200.0 * (sum - gauss).abs() / size).powf(1.5).min(1.0);
        if error > enough && halvings > 0 {
            let (middle, next) = (0.5 * (lo + hi), (0.5 * enough, halvings - 1));
            return self.halves(index, (lo, middle), next, row, out)
                + self.halves(index, (middle, hi), next, row, out);
        }
        out[0] += sum;
        if out.len() == 1 {
            return error;
        }
        let variables = self.variables;
        for index in 0..KRONROD {
            let (z, weight, _) = kronrod(index);
            at(own, place(z), row);
            let volume = 0.5 * (hi - lo) * weight * row[0].exp();
            for i in 0..variables {
                out[1 + i] += volume * row[1 + i];
                for j in 0..=i {
                    let at = pair(variables, i, j);
                    out[at] += volume * (row[at] + row[1 + i] * row[1 + j]);
                }
            }
        }
        error
    }
}

impl Panel {
    pub(super) fn new(ends: (f64, f64), is_zero: bool) -> Self {
        Self { ends, inverse: 1.0 / (ends.1 - ends.0), is_zero, until: 0.0 }
    }

    /// Returns the place within the panel, from -1 to 1.
    #[inline(always)]
    fn z(&self, x: f64) -> f64 {
        let (lo, hi) = self.ends;
        ((x - lo) - (hi - x)) * self.inverse
    }
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
