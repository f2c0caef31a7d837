//! A table of `ln h(x)` and its derivatives along one axis: Chebyshev polynomials on panels that are halved until the terms
//! of `ln h` have fallen.

use std::f64::consts::PI;

use ns_core::Observable;

use super::Integrand;
use crate::events::integral::{Cubature, KRONROD, kronrod};
use crate::events::program::{Program, Sources, components, pair};
use crate::simd::Level;

/// Number of nodes and of polynomials of a panel.
const NODES: usize = 16;

/// Number of equal panels at the beginning.
const PANELS: usize = 4;

/// A panel is good if the last two terms of `ln h` are at most this number, relative to 1 and to a hundredth of `ln h`: for
/// an integral over one variable, and over several, which has larger errors.
const TOLERANCE: [f64; 2] = [1e-11, 1e-8];

/// Panels are not halved below this fraction of the axis.
const SHORTEST: f64 = 1.0 / 16_384.0;

/// Values of `h` below this fraction of the largest one are taken to be 0.
const LEAST: f64 = 1e-280;

/// The integral is cut at this number of lengths of the axis from 0, on either side, beyond the ends of the axis.
const REACH: f64 = 1_048_576.0;

/// Ratio of the ends of the intervals into which the line is divided first.
const RATIO: f64 = 4.0;

/// The line is not cut further than to this number of places.
const LEAST_EDGES: usize = 7;

/// Why there is no table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Failure {
    /// The integral is infinite or not a number.
    NotFinite,
    /// The convolution is negative somewhere.
    Negative,
    /// The convolution is zero everywhere.
    Zero,
}

impl Failure {
    /// Returns the reason, and what the user can do.
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::NotFinite => {
                "its integral over the whole line is infinite; cut one of the densities with a comparison"
            }
            Self::Negative => "it is negative within the axis; both densities have to be positive",
            Self::Zero => "it is zero within the axis; check the places of both densities",
        }
    }
}

/// The convolution between two places.
#[derive(Debug, Clone)]
struct Panel {
    ends: (f64, f64),
    /// For each component of `ln h` (value and derivatives), the coefficients of its polynomials. Empty where `h` is 0.
    coefficients: Vec<f64>,
    /// Integral of `h`, after normalisation, up to the end of the panel.
    until: f64,
}

/// `ln h` on an axis, normalised there.
#[derive(Debug, Clone)]
pub(super) struct Table {
    panels: Vec<Panel>,
    variables: usize,
    /// Estimate of the relative error of `h`.
    pub(super) error: f64,
}

/// Computes `h` and its derivatives at single places.
struct Nodes<'a> {
    level: Level,
    program: &'a Program,
    is_line: bool,
    context: &'a [f64],
    cubature: Cubature,
    edges: Vec<Vec<f64>>,
    /// Largest error of an integral so far.
    error: f64,
}

impl Nodes<'_> {
    fn at(&mut self, x: f64, out: &mut [f64]) -> Result<(), Failure> {
        self.integrate(x, out);
        while !out.iter().all(|x| x.is_finite()) {
            // Far away, one density may be too large for a number, and the other one too small.
            self.shorten(x, out)?;
        }
        if out[0] > 0.0 {
            self.error = self.error.max(self.cubature.error);
        }
        Ok(())
    }

    fn integrate(&mut self, x: f64, out: &mut [f64]) {
        let sources = Sources { data: &[x], ..Sources::of(self.context) };
        self.cubature.integrate(self.level, self.program, sources, &self.edges, out);
    }

    /// Leaves out the two outermost intervals. The error is at least what the next two contribute.
    fn shorten(&mut self, x: f64, out: &mut [f64]) -> Result<(), Failure> {
        let is_long = |edges: &&mut Vec<f64>| self.is_line && edges.len() > LEAST_EDGES;
        let Some(edges) = self.edges.first_mut().filter(is_long) else {
            return Err(Failure::NotFinite);
        };
        edges.pop();
        edges.remove(0);
        let kept = edges.clone();
        let inner = kept.get(1..kept.len() - 1).unwrap_or_default().to_vec();
        self.edges = vec![inner];
        self.integrate(x, out);
        let without = out[0];
        self.edges = vec![kept];
        self.integrate(x, out);
        let share = (out[0] - without).abs() / out[0].abs();
        if share > 0.0 {
            self.error = self.error.max(share);
        }
        Ok(())
    }
}

/// Returns the places at which the line of an integral over all numbers is divided first.
pub(super) fn line(axis: &Observable) -> Vec<f64> {
    let length = axis.max - axis.min;
    let end = axis.min.abs().max(axis.max.abs());
    let mut edges = vec![0.0];
    let mut place = length / 16.0;
    while place < REACH * length + end {
        edges.extend([place, -place]);
        place *= RATIO;
    }
    edges.sort_by(f64::total_cmp);
    edges
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
        let Integrand { program, edges, is_line } = of;
        let cubature = Cubature::new(program, edges.len(), false);
        let tolerance = TOLERANCE[usize::from(edges.len() > 1)];
        let (edges, is_line) = (edges.clone(), *is_line);
        let mut nodes = Nodes { level, program, is_line, context, cubature, edges, error: 0.0 };
        let variables = program.variables();
        let size = components(variables);
        let (length, step) = (axis.max - axis.min, (axis.max - axis.min) / PANELS as f64);
        let mut open: Vec<(f64, f64)> = (0..PANELS)
            .rev()
            .map(|i| {
                let end = if i + 1 == PANELS { axis.max } else { axis.min + step * (i + 1) as f64 };
                (axis.min + step * i as f64, end)
            })
            .collect();
        let mut table = Self { panels: Vec::new(), variables, error: 0.0 };
        let (mut values, mut largest) = (vec![0.0; NODES * size], 0.0_f64);
        // Upper estimate of what is lost in panels across the edge of the support that are too short to be halved.
        let mut lost = 0.0;
        while let Some(ends) = open.pop() {
            let half = 0.5 * (ends.1 - ends.0);
            for (j, row) in values.chunks_exact_mut(size).enumerate() {
                nodes.at(0.5 * (ends.0 + ends.1) + half * node(j), row)?;
                largest = largest.max(row[0]);
            }
            let is_zero = |row: &[f64]| row[0].abs() <= LEAST * largest;
            let rows = || values.chunks_exact(size);
            if rows().any(|row| row[0] < 0.0 && !is_zero(row)) {
                return Err(Failure::Negative);
            }
            let may_halve = half > SHORTEST * length;
            if rows().all(is_zero) {
                table.panels.push(Panel { ends, coefficients: Vec::new(), until: 0.0 });
                continue;
            }
            if rows().any(is_zero) {
                if may_halve {
                    halve(ends, &mut open);
                } else {
                    lost += 2.0 * half * rows().map(|row| row[0]).fold(0.0, f64::max);
                    table.panels.push(Panel { ends, coefficients: Vec::new(), until: 0.0 });
                }
                continue;
            }
            values.chunks_exact_mut(size).for_each(|row| to_logarithm(row, variables));
            let coefficients = transform(&values, size);
            let own = coefficients.get(..NODES).unwrap_or_default();
            let scale = 1.0 + 0.01 * own.first().map_or(0.0, |a| a.abs());
            let tail = own.iter().rev().take(2).fold(0.0_f64, |most, a| most.max(a.abs()));
            if tail > tolerance * scale && may_halve {
                halve(ends, &mut open);
                continue;
            }
            table.error = table.error.max(tail);
            table.panels.push(Panel { ends, coefficients, until: 0.0 });
        }
        table.error += nodes.error;
        table.normalise(lost)?;
        Ok(table)
    }

    /// Divides `h` by its integral over the axis, of which `lost` is missing.
    fn normalise(&mut self, lost: f64) -> Result<(), Failure> {
        let size = components(self.variables);
        let mut total = vec![0.0; size];
        let mut sums = Vec::with_capacity(self.panels.len());
        let mut error = 0.0;
        for panel in &self.panels {
            error += panel.add(panel.ends, self.variables, &mut total);
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
        for panel in &mut self.panels {
            for (own, part) in panel.coefficients.chunks_exact_mut(NODES).zip(&total) {
                own[0] -= part;
            }
        }
        Ok(())
    }

    fn panel(&self, x: f64) -> Option<&Panel> {
        let at = self.panels.partition_point(|panel| panel.ends.1 < x);
        self.panels.get(at).filter(|panel| panel.ends.0 <= x)
    }

    /// Writes the first components of `ln h(x)` (value and derivatives), as many as `out` has, to `out`. Outside of the axis and where `h`
    /// is 0, the logarithm is minus infinity.
    pub(super) fn at(&self, x: f64, out: &mut [f64]) {
        out.fill(0.0);
        match self.panel(x) {
            Some(panel) if !panel.coefficients.is_empty() => panel.at(x, out),
            _ => out[0] = f64::NEG_INFINITY,
        }
    }

    /// Adds the integral of `h` over `ends`, with its derivatives, to `out`. Returns an estimate of its error.
    pub(super) fn integrate(&self, ends: (f64, f64), out: &mut [f64]) -> f64 {
        let mut error = 0.0;
        for panel in &self.panels {
            let part = (ends.0.max(panel.ends.0), ends.1.min(panel.ends.1));
            if part.0 < part.1 {
                error += panel.add(part, self.variables, out);
            }
        }
        error + self.error * out[0]
    }

    /// Returns the place up to which the integral of `h` is `share`.
    pub(super) fn place(&self, share: f64) -> f64 {
        let at = self.panels.partition_point(|panel| panel.until < share).min(self.panels.len() - 1);
        let before = if at == 0 { 0.0 } else { self.panels[at - 1].until };
        let panel = &self.panels[at];
        let (wanted, (mut low, mut high)) = (share - before, panel.ends);
        let mut x = low + (high - low) * wanted / (panel.until - before);
        let mut value = [0.0];
        for _ in 0..60 {
            let mut sum = [0.0];
            panel.add((panel.ends.0, x), 0, &mut sum);
            let miss = sum[0] - wanted;
            if miss > 0.0 {
                high = x
            } else {
                low = x
            }
            panel.at(x, &mut value);
            let next = x - miss / value[0].exp();
            let next = if low < next && next < high { next } else { 0.5 * (low + high) };
            if (next - x).abs() <= 4.0 * f64::EPSILON * x.abs().max(high - low) || next == x {
                return next;
            }
            x = next;
        }
        x
    }
}

impl Panel {
    /// Writes the first components of `ln h(x)`, as many as `out` has, to `out`.
    fn at(&self, x: f64, out: &mut [f64]) {
        let (lo, hi) = self.ends;
        let z = ((x - lo) - (hi - x)) / (hi - lo);
        let mut polynomials = [1.0; NODES];
        polynomials[1] = z;
        for k in 2..NODES {
            polynomials[k] = 2.0 * z * polynomials[k - 1] - polynomials[k - 2];
        }
        for (to, own) in out.iter_mut().zip(self.coefficients.chunks_exact(NODES)) {
            *to = own.iter().zip(&polynomials).map(|(a, t)| a * t).sum();
        }
    }

    /// Adds the integral of `h` over a part of the panel to `out`, with its derivatives if `out` has room for them. Returns
    /// the difference of two rules.
    fn add(&self, (lo, hi): (f64, f64), variables: usize, out: &mut [f64]) -> f64 {
        if self.coefficients.is_empty() {
            return 0.0;
        }
        let size = out.len();
        // Toys ask for the value alone, many times.
        let (mut one, mut all) = ([0.0], if size == 1 { Vec::new() } else { vec![0.0; size] });
        let row = if size == 1 { &mut one[..] } else { &mut all[..] };
        let (mut sum, mut gauss) = (0.0, 0.0);
        for index in 0..KRONROD {
            let (z, weight, other) = kronrod(index);
            self.at(0.5 * (lo + hi) + 0.5 * (hi - lo) * z, row);
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

fn halve((lo, hi): (f64, f64), open: &mut Vec<(f64, f64)>) {
    let middle = 0.5 * (lo + hi);
    open.extend([(middle, hi), (lo, middle)]);
}

/// Returns a node of a panel, on [-1, 1].
fn node(j: usize) -> f64 {
    (PI * (j as f64 + 0.5) / NODES as f64).cos()
}

/// Replaces a number and its derivatives by those of its logarithm.
fn to_logarithm(row: &mut [f64], variables: usize) {
    let inverse = 1.0 / row[0];
    row[1..].iter_mut().for_each(|x| *x *= inverse);
    for i in 0..variables {
        for j in 0..=i {
            row[pair(variables, i, j)] -= row[1 + i] * row[1 + j];
        }
    }
    row[0] = row[0].ln();
}

/// Returns the coefficients of the polynomials through the values at the nodes. `values` has all components of one node
/// after those of another, and the result all coefficients of one component after those of another.
fn transform(values: &[f64], size: usize) -> Vec<f64> {
    let mut coefficients = vec![0.0; NODES * size];
    for (k, j) in (0..NODES).flat_map(|k| (0..NODES).map(move |j| (k, j))) {
        let angle = PI * k as f64 * (j as f64 + 0.5) / NODES as f64;
        let weight = angle.cos() * if k == 0 { 1.0 } else { 2.0 } / NODES as f64;
        for component in 0..size {
            coefficients[component * NODES + k] += weight * values[j * size + component];
        }
    }
    coefficients
}
