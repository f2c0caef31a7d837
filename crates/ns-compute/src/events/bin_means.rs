//! Means of densities over bins, for histograms whose contents are compared with integrals over their bins.
//!
//! The mean over a bin is the integral over the bin, divided by the volume of the bin. Integrals are computed once per
//! point of the fit, not once per event. They have a closed form for some densities. All other densities are integrated
//! numerically within the bin.

use ns_core::{BinRule, Density, EventChannel};

use super::densities::Space;
use super::expand::{Expansion, Term};
use super::integral::{Integral, IntegralMemory, Purpose};
use super::leaf::Leaf;
use super::program::{components, pair};
use super::sums::{BLOCK, Point};
use super::wide::Wide;
use crate::simd::Level;

/// The error of a mean counts relative to the mean, but at least relative to this fraction of the largest mean of all
/// bins.
const LEAST_MEAN: f64 = 1e-8;

/// The means of a product of densities over all bins of its observables.
#[derive(Debug, Clone)]
pub(super) struct BinMeans {
    /// The observables of the product. Each element contains the index of an observable and its bin edges. The cells
    /// (combinations of bins) are ordered so that the last observable varies fastest.
    axes: Vec<(usize, Vec<f64>)>,
    /// The cells, one for each combination of bins (one bin per observable of the product).
    cells: Vec<Cell>,
    /// Number of variables on which the product depends.
    variables: usize,
}

/// One combination of bins: one bin in each observable of the product.
#[derive(Debug, Clone)]
struct Cell {
    /// Integral of the product over the bin; `None` for a bin outside the fit ranges.
    integral: Option<Integral>,
    volume: f64,
    /// For each component of the integral (value or derivative), the index of the corresponding component of the
    /// product.
    places: Vec<usize>,
    /// Index of the working memory of the integral. Integrals of the same shape share their memory.
    memory: usize,
}

/// Working memory for the computation of means.
#[derive(Debug, Clone, Default)]
pub(super) struct BinMeansMemory {
    memories: Vec<IntegralMemory>,
    /// Relative error of the mean of each cell.
    errors: Vec<f64>,
    variables: Vec<f64>,
    out: Vec<f64>,
    /// The means and their derivatives. All components of one cell (combination of bins) follow one another, cell after
    /// cell.
    means: Vec<f64>,
    /// The largest error of the means, and the index of the process to which it belongs.
    pub(super) error: (f64, usize),
}

/// Returns whether the bin contents of a channel are compared with integrals of the density over the bins, and not
/// with the density at the bin centres.
pub(super) fn is_integrated(channel: &EventChannel) -> bool {
    channel.binning.as_ref().is_some_and(|binning| binning.rule == BinRule::Integral)
}

/// Replaces the leaves (basic densities) of all terms by their means over the channel's bins. Each group of leaves that
/// have observables in common becomes one leaf. Returns `None` if a product of leaves has no integral.
pub(super) fn over_bins(expansion: &mut Expansion<'_>, mut terms: Vec<Term>) -> Option<Vec<Term>> {
    let mut known: Vec<Vec<usize>> = Vec::new();
    let mut made: Vec<Leaf> = Vec::new();
    for term in &mut terms {
        let mut leaves = Vec::new();
        for group in expansion.groups(&term.leaves) {
            let index = match known.iter().position(|other| *other == group) {
                Some(index) => index,
                None => {
                    made.push(leaf(expansion, &group)?);
                    known.push(group);
                    made.len() - 1
                }
            };
            leaves.push(index);
        }
        term.leaves = leaves;
    }
    expansion.leaves = made;
    Some(terms)
}

/// Returns a leaf whose values are the bin means of the product of a group of leaves (basic densities).
fn leaf(expansion: &mut Expansion<'_>, group: &[usize]) -> Option<Leaf> {
    let own = expansion.observables_of(group);
    let channel = expansion.channel;
    let edges = &channel.binning.as_ref()?.edges;
    let axes: Vec<(usize, Vec<f64>)> =
        own.iter().map(|&x| Some((x, edges.get(x)?.clone()))).collect::<Option<_>>()?;
    let mut integrals = Vec::new();
    let count: usize = axes.iter().map(|(_, edges)| edges.len() - 1).product();
    for index in 0..count {
        let sides = sides(&axes, index);
        let volume: f64 = sides.iter().map(|(lo, hi)| hi - lo).product();
        // Fit ranges end at bin edges. Thus a bin is in a fit range if its centre is.
        let inside = |region: &Vec<(f64, f64)>| {
            let within = |(&x, (lo, hi)): (&usize, &(f64, f64))| {
                let centre = 0.5 * (lo + hi);
                region[x].0 <= centre && centre <= region[x].1
            };
            own.iter().zip(&sides).all(within)
        };
        let integral = match expansion.boxes.iter().any(inside) {
            true => Some(expansion.box_integral(group, &own, &sides, Purpose::Bin)?),
            false => None,
        };
        integrals.push((integral, volume));
    }
    let factors: Vec<Density> = group.iter().map(|&leaf| expansion.leaves[leaf].density.clone()).collect();
    let space = Space { axes: &channel.observables, boxes: &expansion.boxes };
    Leaf::of_bins(&factors, space, &mut expansion.locals, |variables| {
        // The variables of the leaf are the variables of all its integrals.
        for variable in integrals.iter().filter_map(|(i, _)| i.as_ref()).flat_map(|i| &i.variables) {
            if !variables.contains(variable) {
                variables.push(*variable);
            }
        }
        let d = variables.len();
        let cell = |(integral, volume): (Option<Integral>, f64)| {
            let places = integral.as_ref().map(|integral| places(&integral.variables, variables));
            Cell { integral, volume, places: places.unwrap_or_default(), memory: 0 }
        };
        let mut cells: Vec<Cell> = integrals.into_iter().map(cell).collect();
        share_memory(&mut cells);
        Some(BinMeans { axes, cells, variables: d })
    })
}

/// Numbers the working memories of the integrals, such that integrals of the same shape share one.
fn share_memory(cells: &mut [Cell]) {
    let mut first: Vec<usize> = Vec::new();
    for i in 0..cells.len() {
        let Some(integral) = &cells[i].integral else { continue };
        let is_same =
            |&k: &usize| cells[k].integral.as_ref().is_some_and(|other| other.has_shape_of(integral));
        let known = first.iter().position(is_same).unwrap_or_else(|| {
            first.push(i);
            first.len() - 1
        });
        cells[i].memory = known;
    }
}

/// Returns the lower and upper edge of a cell in each observable.
fn sides(axes: &[(usize, Vec<f64>)], index: usize) -> Vec<(f64, f64)> {
    let mut rest = index;
    let mut sides: Vec<(f64, f64)> = Vec::with_capacity(axes.len());
    for (_, edges) in axes.iter().rev() {
        let bin = rest % (edges.len() - 1);
        rest /= edges.len() - 1;
        sides.push((edges[bin], edges[bin + 1]));
    }
    sides.reverse();
    sides
}

/// For each component of a function of the variables `own`, returns the index of the same component in a function of
/// the variables `all`. Components are the value, the first derivatives and the second derivatives.
fn places(own: &[usize], all: &[usize]) -> Vec<usize> {
    let d = own.len();
    let at: Vec<usize> = own.iter().map(|v| all.iter().position(|w| w == v).unwrap_or(0)).collect();
    let mut places = vec![0; components(d)];
    for i in 0..d {
        places[1 + i] = 1 + at[i];
        for j in 0..=i {
            places[pair(d, i, j)] = pair(all.len(), at[i], at[j]);
        }
    }
    places
}

impl BinMeans {
    /// Allocates working memory for the computation of the means.
    pub(super) fn memory(&self) -> BinMeansMemory {
        let integrals = || self.cells.iter().map(|cell| cell.integral.as_ref());
        let most = integrals().flatten().map(|integral| integral.variables.len()).max().unwrap_or(0);
        BinMeansMemory {
            memories: {
                let mut memories: Vec<IntegralMemory> = Vec::new();
                for cell in &self.cells {
                    if let Some(integral) = cell.integral.as_ref().filter(|_| cell.memory == memories.len()) {
                        memories.push(integral.memory());
                    }
                }
                memories
            },
            errors: vec![0.0; self.cells.len()],
            variables: Vec::with_capacity(most),
            out: vec![0.0; components(most)],
            means: vec![0.0; self.cells.len() * components(self.variables)],
            error: (0.0, 0),
        }
    }

    /// Changes what the integrals over the bins are for.
    pub(super) fn serve(&mut self, purpose: Purpose) {
        let integrals = self.cells.iter_mut().filter_map(|cell| cell.integral.as_mut());
        integrals.for_each(|integral| integral.serve(purpose));
    }

    /// Computes the means of all bins at `locals`, the values that the channel uses (parameters or functions of
    /// parameters).
    pub(super) fn prepare(&self, level: Level, locals: &[f64], memory: &mut BinMeansMemory) {
        let BinMeansMemory { memories, errors, variables, out, means, error } = memory;
        let size = components(self.variables);
        for ((cell, own), means) in self.cells.iter().zip(&mut *errors).zip(means.chunks_exact_mut(size)) {
            let (Some(integral), Some(memory)) = (&cell.integral, memories.get_mut(cell.memory)) else {
                continue;
            };
            variables.clear();
            variables.extend(integral.variables.iter().map(|&local| locals[local]));
            let out = &mut out[..integral.size()];
            integral.evaluate(level, variables, memory, out);
            for (&place, value) in cell.places.iter().zip(out.iter()) {
                means[place] = value / cell.volume;
            }
            *own = integral.error(memory);
        }
        // Where the mean is far below the largest one, its error relative to itself does not matter.
        let least = LEAST_MEAN * means.iter().step_by(size).fold(0.0, |most: f64, mean| most.max(mean.abs()));
        *error = (0.0, 0);
        for ((cell, own), mean) in self.cells.iter().zip(errors).zip(means.iter().step_by(size)) {
            let Some(integral) = &cell.integral else { continue };
            let relative = if *own == 0.0 { 0.0 } else { *own * mean.abs() / mean.abs().max(least) };
            if !(relative <= error.0) {
                *error = (relative, integral.process);
            }
        }
    }

    /// Looks up, for each of the events `from..from + n`, the mean over the bin that contains the event, and the
    /// derivatives of this mean. Writes them to `out`, component by component.
    pub(super) fn look_up(
        &self,
        columns: &[&[f64]],
        (from, n): (usize, usize),
        memory: &BinMeansMemory,
        out: &mut [f64],
    ) {
        let size = components(self.variables);
        for lane in 0..n {
            let index = self.cell(columns, from + lane);
            let mean = &memory.means[index * size..][..size];
            for (component, value) in mean.iter().enumerate() {
                out[component * BLOCK + lane] = *value;
            }
        }
    }

    /// Returns the mean over the bin that contains an event, with its derivatives, as numbers of a wide range.
    pub(super) fn wide(&self, point: Point<'_>, columns: &[&[f64]], event: usize) -> Vec<Wide> {
        let mut mean = vec![Wide::ZERO; components(self.variables)];
        let cell = &self.cells[self.cell(columns, event)];
        if let Some(integral) = &cell.integral {
            let variables: Vec<f64> = integral.variables.iter().map(|&local| point.locals[local]).collect();
            let volume = Wide::from(cell.volume);
            for (&place, value) in cell.places.iter().zip(integral.evaluate_wide(
                point.level,
                &variables,
                &mut integral.memory(),
            )) {
                mean[place] = value.div(volume);
            }
        }
        mean
    }

    /// Returns the index of the cell that contains an event.
    fn cell(&self, columns: &[&[f64]], event: usize) -> usize {
        self.axes.iter().fold(0, |index, (x, edges)| {
            let bins = edges.len() - 1;
            let above = edges.partition_point(|edge| *edge <= columns[*x][event]);
            index * bins + above.clamp(1, bins) - 1
        })
    }
}
