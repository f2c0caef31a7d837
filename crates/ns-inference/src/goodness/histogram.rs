//! chi2 between binned events and the density at the best fit.

use std::sync::Arc;

use ns_compute::{EventShapes, Level};
use ns_core::{EventTable, INTEGRAL_TOLERANCE, Model, SessionError};

use super::events::{ChannelGoodness, EventStatistic};
use crate::InferenceError;

/// Largest number of points at which a density that is not a formula is evaluated.
const MOST_NODES: usize = 20_000_000;
/// Number of points along one observable in each panel. A panel is one of the equal parts into which
/// [`EventShapes::grids`] divides a fit range.
const NODES: usize = 21;

/// The bins of all event channels.
pub(super) struct Histograms {
    /// Densities with the bins. In a channel with a density that is not a formula, every bin is a fit range, so each
    /// bin is integrated separately.
    shapes: EventShapes,
    channels: Vec<Bins>,
}

/// The bins of one channel. The edges along all observables form a grid, and the bins are the cells of this grid that
/// lie within the fit ranges.
struct Bins {
    name: String,
    extended: bool,
    /// Edges of the cells of the grid along each observable.
    edges: Vec<Vec<f64>>,
    /// Index of the bin of each cell of the grid; `None` for cells outside the fit ranges. In the order of the cells,
    /// the last observable varies fastest.
    bin: Vec<Option<usize>>,
    n_bins: usize,
}

impl Histograms {
    /// Divides the axes of all event channels into `n` bins of equal width. Bins at the ends of fit ranges are
    /// narrower.
    pub(super) fn new(model: &Model, n: usize) -> Result<Self, InferenceError> {
        let refused = |reason: String| {
            let statistic = EventStatistic::Chi2.name();
            InferenceError::NoEventStatistic { statistic, reason }
        };
        if n == 0 {
            return Err(refused("there must be at least one bin".to_owned()));
        }
        let mut binned = model.clone();
        let mut all_edges: Vec<Vec<Vec<f64>>> = Vec::with_capacity(model.event_channels.len());
        let mut channels = Vec::with_capacity(model.event_channels.len());
        for channel in &mut binned.event_channels {
            let boxes = channel.boxes();
            let d = channel.observables.len();
            let along = |x: usize| {
                let axis = channel.observables.get(x);
                let (low, high) = axis.map_or((0.0, 1.0), |axis| (axis.min, axis.max));
                let mut edges: Vec<f64> = (0..=n).map(|i| low + (high - low) * i as f64 / n as f64).collect();
                edges.extend(
                    boxes.iter().filter_map(|region| region.get(x)).flat_map(|(from, to)| [*from, *to]),
                );
                edges.sort_by(f64::total_cmp);
                // Edges that differ only by rounding are the same edge.
                edges.dedup_by(|b, a| *b - *a <= 1e-12 * (high - low));
                edges
            };
            let edges: Vec<Vec<f64>> = (0..d).map(along).collect();
            let cells: usize = edges.iter().map(|axis| axis.len() - 1).product();
            let is_formula = channel.has_formulas();
            let nodes = (EventShapes::panels(d) * NODES).saturating_pow(d as u32).saturating_mul(cells);
            let excess = match is_formula {
                true => cells as f64 / EventShapes::most_bins() as f64,
                false => nodes as f64 / MOST_NODES as f64,
            };
            if excess > 1.0 {
                return Err(refused(format!(
                    "{n} bins of each observable of channel '{}' are too many; use at most {}",
                    channel.name,
                    ((n as f64) * excess.powf(-1.0 / d as f64)).floor()
                )));
            }
            let (mut bin, mut ranges) = (Vec::with_capacity(cells), Vec::new());
            for cell in 0..cells {
                let sides = sides(&edges, cell);
                let middle: Vec<f64> = sides.iter().map(|(a, b)| 0.5 * (a + b)).collect();
                let inside = |region: &Vec<(f64, f64)>| {
                    region.iter().zip(&middle).all(|((from, to), x)| from <= x && x <= to)
                };
                let within = boxes.iter().any(inside);
                bin.push(within.then_some(ranges.len()));
                if within {
                    ranges.push(sides);
                }
            }
            let (name, extended, n_bins) = (channel.name.clone(), channel.extended, ranges.len());
            if !is_formula {
                channel.ranges = ranges;
            }
            channel.binning = None;
            all_edges.push(edges.clone());
            channels.push(Bins { name, extended, edges, bin, n_bins });
        }
        let shapes =
            EventShapes::with_bins(&binned, Level::detect(), &all_edges).map_err(SessionError::from)?;
        Ok(Self { shapes, channels })
    }

    /// Returns chi2 of each channel. `parameters` are the values of all parameters, and `tables` the events of each
    /// channel. If the events are Asimov data, `expected` contains the parameters at which they are expected.
    pub(super) fn channels(
        &self,
        parameters: &[f64],
        tables: &[Arc<EventTable>],
        expected: Option<&[f64]>,
    ) -> Result<Vec<ChannelGoodness>, InferenceError> {
        let made_at = expected;
        let mut all = Vec::with_capacity(self.channels.len());
        for ((index, bins), table) in self.channels.iter().enumerate().zip(tables) {
            // Events of Asimov data are nodes of a rule for numerical integration, which are too few for most bins.
            let n_events = table.sum_of_weights();
            let observed = match made_at {
                Some(at) => self.expected(at, (index, bins), n_events)?,
                None => bins.counted(table),
            };
            let n_events: f64 = observed.iter().sum();
            let expected = self.expected(parameters, (index, bins), n_events)?;
            // A bin with an expected yield of zero contributes only if it has events. chi2 is then infinite.
            let term = |(n, lambda): (&f64, &f64)| match (*n, *lambda) {
                (0.0, 0.0) => 0.0,
                (n, lambda) => (n - lambda).powi(2) / lambda,
            };
            all.push(ChannelGoodness {
                name: bins.name.clone(),
                value: observed.iter().zip(&expected).map(term).sum(),
                n_events,
                n_bins: Some(bins.n_bins),
                least_expected: expected.iter().copied().reduce(f64::min),
            });
        }
        Ok(all)
    }

    /// Returns a warning for each channel whose expected numbers of events in bins are inexact.
    pub(super) fn inexact(&self, parameters: &[f64]) -> Vec<String> {
        let of = |(index, bins): (usize, &Bins)| {
            let error = self.shapes.integral_error(parameters, index);
            let warning = format!(
                "the expected numbers of events in the bins of channel '{}' have a relative error of about {error:.1e}, from \
                 their integrals; cut the fit range where its densities diverge",
                bins.name
            );
            (!(error <= INTEGRAL_TOLERANCE)).then_some(warning)
        };
        self.channels.iter().enumerate().filter_map(of).collect()
    }

    /// Returns the expected number of events in each bin of a channel. `n_events` is the sum of these numbers if the
    /// channel is not extended.
    fn expected(
        &self,
        parameters: &[f64],
        (index, bins): (usize, &Bins),
        n_events: f64,
    ) -> Result<Vec<f64>, InferenceError> {
        let mut expected = vec![0.0; bins.n_bins];
        for grid in self.shapes.grids(parameters, index)? {
            expected.iter_mut().zip(bins.counted(&grid)).for_each(|(sum, part)| *sum += part);
        }
        if !bins.extended {
            let sum: f64 = expected.iter().sum();
            expected.iter_mut().for_each(|x| *x *= n_events / sum);
        }
        Ok(expected)
    }
}

impl Bins {
    /// Returns the sum of the weights of the events in each bin. An event at the upper end of an axis belongs to the
    /// last cell.
    fn counted(&self, table: &EventTable) -> Vec<f64> {
        let mut counts = vec![0.0; self.n_bins];
        for event in 0..table.len() {
            let mut cell = 0;
            for (edges, column) in self.edges.iter().zip(&table.columns) {
                let x = column.get(event).copied().unwrap_or(f64::NAN);
                let place = edges.partition_point(|edge| *edge <= x).clamp(1, edges.len() - 1) - 1;
                cell = cell * (edges.len() - 1) + place;
            }
            let bin = self.bin.get(cell).copied().flatten();
            if let Some(count) = bin.and_then(|bin| counts.get_mut(bin)) {
                *count += table.weights.as_ref().and_then(|w| w.get(event)).copied().unwrap_or(1.0);
            }
        }
        counts
    }
}

/// Returns the lower and upper edge along each observable of the cell with index `cell` in the grid of bins.
fn sides(edges: &[Vec<f64>], cell: usize) -> Vec<(f64, f64)> {
    let mut rest = cell;
    let mut sides: Vec<(f64, f64)> = Vec::with_capacity(edges.len());
    for axis in edges.iter().rev() {
        let n = axis.len() - 1;
        let place = rest % n;
        rest /= n;
        let end = |i: usize| axis.get(i).copied().unwrap_or(f64::NAN);
        sides.push((end(place), end(place + 1)));
    }
    sides.reverse();
    sides
}
