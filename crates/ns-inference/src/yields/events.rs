//! Yields of event channels: the expected number of events of each process, in bins of each observable.
//!
//! The bins are chosen for plots. The sum over all bins is the rate (expected number of events) of the process.
//! Uncertainties are computed from the shifts of the yields when single parameters change, as for binned channels.

use std::sync::Arc;

use ns_compute::{EventShapes, Level};
use ns_core::{Data, EventChannel, EventTable, INTEGRAL_TOLERANCE, Model, SessionError, Value};

use super::uncertainty::{Correlations, Spread};
use super::{ChannelYields, SampleYields};
use crate::InferenceError;

/// Approximate number of bins of a plot.
const BINS: f64 = 40.0;
/// Number of intervals into which the curves of a plot divide each bin.
const STEPS: usize = 8;

/// A histogram to compute: the expected events of one channel in bins of one observable.
struct View<'a> {
    channel: &'a EventChannel,
    /// Index of the channel.
    index: usize,
    /// Index of the observable.
    observable: usize,
    edges: Vec<f64>,
    /// Factor that converts the rates of the processes to expected numbers of events. It is 1 for an extended
    /// channel. For any other channel the rates are fractions, and the factor is the number of events.
    scale: f64,
}

/// Computes the yields of all event channels at the parameters `point`. The result has one entry per observable of
/// each channel, and warnings. `weighted` tells whether the data are events with weights.
pub(super) fn event_channels(
    model: &Model,
    data: &Data,
    weighted: bool,
    point: &[f64],
    spread: &Spread<'_>,
) -> Result<(Vec<ChannelYields>, Vec<String>), InferenceError> {
    if model.event_channels.is_empty() {
        return Ok(Default::default());
    }
    let given = &data.counts(model).events;
    let tables = if given.is_empty() { &model.observed.events } else { given };
    let mut views = Vec::new();
    for ((index, channel), table) in model.event_channels.iter().enumerate().zip(tables) {
        let scale = if channel.extended { 1.0 } else { table.sum_of_weights() };
        for observable in 0..channel.observables.len() {
            views.push(View { channel, index, observable, edges: edges(channel, observable), scale });
        }
    }
    let shapes = by_observable(model, &views)?;
    let middle = predicted(&shapes, &views, point)?;
    let mut warnings = Vec::new();
    let shifts = shifts(model, &shapes, &views, point, spread)?;
    // Events of Asimov data are nodes of a rule for numerical integration, which are too few for the bins of pictures.
    let made_at = data.expected.as_ref().map(|at| predicted(&shapes, &views, &at.parameters)).transpose()?;
    let sigma = |target: usize| -> Option<f64> {
        let shifts = shifts.as_ref()?;
        let mut variance = 0.0;
        for (i, by_i) in shifts {
            for (j, by_j) in shifts {
                let own = |by: &[f64]| by.get(target).copied().unwrap_or(0.0);
                let sigma = |p: usize| spread.sigma.get(p).copied().flatten().unwrap_or(0.0);
                variance += spread.correlation((*i, sigma(*i)), (*j, sigma(*j))) * own(by_i) * own(by_j);
            }
        }
        (variance.is_finite() && variance > -1e-12).then(|| variance.max(0.0).sqrt())
    };
    let mut next = 0;
    let mut all = Vec::with_capacity(views.len());
    for (which, (view, processes)) in views.iter().zip(&middle).enumerate() {
        let bins = view.edges.len().saturating_sub(1);
        // Targets are numbered as in `flat`: for each process its bins and its sum, then the bins and the sum of all
        // processes together.
        let mut targets = |n: usize| -> Vec<Option<f64>> {
            next += n;
            (next - n..next).map(sigma).collect()
        };
        let curve_positions = positions(view);
        let mut curves = curves(model, view, point)?;
        if let Some(error) = shapes.get(view.observable).map(|own| own.integral_error(point, view.index))
            && !(error <= INTEGRAL_TOLERANCE)
        {
            warnings.push(format!(
                "the yields of event channel '{}' in bins have a relative error of about {error:.1e}, from their integrals; \
                 cut the fit range where its densities diverge",
                view.channel.name
            ));
        }
        for curve in &mut curves {
            for (i, height) in curve.iter_mut().enumerate() {
                let bin = i / (STEPS + 1);
                let width = view.edges.get(bin..bin + 2).map_or(0.0, |ends| ends[1] - ends[0]);
                *height *= view.scale * width;
            }
        }
        let mut curves = curves.into_iter();
        let mut samples = Vec::new();
        for (process, counts) in view.channel.processes.iter().zip(processes) {
            let uncertainty = targets(bins);
            let curve = curves.next().unwrap_or_default();
            samples.push(SampleYields {
                name: process.name.clone(),
                signal: model.pois.iter().any(|poi| depends(model, process.rate, *poi)),
                counts: counts.clone(),
                curve,
                uncertainty,
                sum: counts.iter().sum(),
                sum_uncertainty: targets(1).pop().flatten(),
            });
        }
        let total = summed(processes, bins);
        let uncertainty = targets(bins);
        let table = tables.get(view.index);
        let observed = match made_at.as_ref().and_then(|views| views.get(which)) {
            Some(processes) => summed(processes, bins),
            None => table.map(|table| counted(view, table, |weight| weight)).unwrap_or_default(),
        };
        let is_binned = view.channel.binning.is_some();
        let squares = table.filter(|table| weighted && !is_binned && table.weights.is_some());
        let squares = squares.map(|table| counted(view, table, |weight| weight * weight));
        let axis = view.channel.observables.get(view.observable);
        let name = match (view.channel.observables.len(), axis) {
            (0 | 1, _) | (_, None) => view.channel.name.clone(),
            (_, Some(axis)) => projection_name(&view.channel.name, &axis.name),
        };
        all.push(ChannelYields {
            name,
            observable: axis.map(|axis| axis.name.clone()),
            blind: axis.map(|axis| axis.blind.clone()).unwrap_or_default(),
            curve_positions,
            blinded: false,
            data_uncertainty: squares.into_iter().flatten().map(f64::sqrt).collect(),
            axis_title: String::new(),
            bin_edges: view.edges.clone(),
            samples,
            uncertainty,
            sum: total.iter().sum(),
            sum_uncertainty: targets(1).pop().flatten(),
            data_sum: observed.iter().sum(),
            data: observed,
            total,
        });
    }
    Ok((all, warnings))
}

/// Compiles the processes of all event channels with the bins of the views, once per observable.
fn by_observable(model: &Model, views: &[View<'_>]) -> Result<Vec<EventShapes>, InferenceError> {
    let most = views.iter().map(|view| view.observable + 1).max().unwrap_or(0);
    let shapes = (0..most).map(|observable| {
        let bins = |(index, channel): (usize, &EventChannel)| -> Vec<Vec<f64>> {
            let view = views.iter().find(|view| view.index == index && view.observable == observable);
            let along = view.map_or(&[][..], |view| &view.edges);
            (0..channel.observables.len())
                .map(|x| cell_edges(channel, x, if x == observable { along } else { &[] }))
                .collect()
        };
        let edges: Vec<_> = model.event_channels.iter().enumerate().map(bins).collect();
        EventShapes::with_bins(model, Level::detect(), &edges)
    });
    Ok(shapes.collect::<Result<_, _>>().map_err(SessionError::from)?)
}

/// Returns the ends of the fit ranges along an observable and the edges `more`, in ascending order.
fn cell_edges(channel: &EventChannel, observable: usize, more: &[f64]) -> Vec<f64> {
    let ranges = channel.boxes();
    let ends = ranges.iter().filter_map(|region| region.get(observable));
    let mut edges: Vec<f64> =
        ends.flat_map(|(low, high)| [*low, *high]).chain(more.iter().copied()).collect();
    edges.sort_by(f64::total_cmp);
    edges.dedup();
    edges
}

/// Returns for each process of a view the expected number of events per unit of the observable, at the
/// [`positions`] of its curves. It is the integral over all other observables.
fn curves(model: &Model, view: &View<'_>, point: &[f64]) -> Result<Vec<Vec<f64>>, InferenceError> {
    let channel = view.channel;
    if !channel.has_formulas() || channel.observables.len() == 1 {
        let positions = inside(&view.edges, &positions(view));
        let shapes = EventShapes::new(model, Level::detect()).map_err(SessionError::from)?;
        return Ok(shapes.projections(point, view.index, view.observable, &positions)?);
    }
    let parts = parts(&view.edges);
    let edges: Vec<Vec<f64>> = (0..channel.observables.len())
        .map(|x| cell_edges(channel, x, if x == view.observable { &parts } else { &[] }))
        .collect();
    let mut all = vec![Vec::new(); view.index];
    all.push(edges);
    let shapes = EventShapes::with_bins(model, Level::detect(), &all).map_err(SessionError::from)?;
    let along = View { edges: parts, ..*view };
    let heights = |grid: &EventTable| -> Vec<f64> {
        let mut means = counted(&along, grid, |weight| weight);
        for (mean, ends) in means.iter_mut().zip(along.edges.windows(2)) {
            *mean /= ends[1] - ends[0];
        }
        means.chunks(STEPS).flat_map(at_ends).collect()
    };
    Ok(shapes.grids(point, view.index)?.iter().map(heights).collect())
}

/// Returns the expected numbers of events, with the indices `[view][process][bin]`. A view is one observable of one
/// channel. `shapes` are those of [`by_observable`].
fn predicted(
    shapes: &[EventShapes],
    views: &[View<'_>],
    point: &[f64],
) -> Result<Vec<Vec<Vec<f64>>>, InferenceError> {
    let mut all = Vec::with_capacity(views.len());
    for view in views {
        let grids = shapes.get(view.observable).map(|own| own.grids(point, view.index)).transpose()?;
        let of = |grid: &EventTable| {
            let counts = counted(view, grid, |weight| weight);
            counts.into_iter().map(|count| view.scale * count).collect::<Vec<f64>>()
        };
        all.push(grids.unwrap_or_default().iter().map(of).collect());
    }
    Ok(all)
}

/// Index of a parameter, and one number per target (a yield whose uncertainty is computed): the change of the target
/// if the parameter changes by its uncertainty.
type Shift = (usize, Vec<f64>);

/// Returns, for each parameter that has an uncertainty, the changes of all yields if the parameter changes by it.
/// Returns `None` if the correlations between parameters are not known.
fn shifts(
    model: &Model,
    shapes: &[EventShapes],
    views: &[View<'_>],
    point: &[f64],
    spread: &Spread<'_>,
) -> Result<Option<Vec<Shift>>, InferenceError> {
    if matches!(spread.correlations, Correlations::Curvature(..)) {
        return Ok(None);
    }
    let mut shifts = Vec::new();
    for (i, (parameter, sigma)) in model.parameters.iter().zip(&spread.sigma).enumerate() {
        let (Some(sigma), Some(&x)) = (*sigma, point.get(i)) else { continue };
        // No yield is evaluated beyond a bound. The shift within the bounds is extrapolated to the full uncertainty.
        let (down, up) = ((x - sigma).max(parameter.bounds.0), (x + sigma).min(parameter.bounds.1));
        if !(up > down) {
            continue;
        }
        let at = |value: f64| {
            let mut point = point.to_vec();
            if let Some(x) = point.get_mut(i) {
                *x = value;
            }
            predicted(shapes, views, &point).map(|all| flat(views, &all))
        };
        let scale = sigma / (up - down);
        let (high, low) = (at(up)?, at(down)?);
        shifts.push((i, high.iter().zip(&low).map(|(a, b)| scale * (a - b)).collect()));
    }
    Ok(Some(shifts))
}

/// Returns all targets (yields whose uncertainty is computed) in one list, view after view (a view is one observable
/// of one channel). A view has its processes one after another, then their total. Each process, and the total, has
/// the yields of its bins, then their sum.
fn flat(views: &[View<'_>], all: &[Vec<Vec<f64>>]) -> Vec<f64> {
    let mut targets = Vec::new();
    for (view, processes) in views.iter().zip(all) {
        let total = summed(processes, view.edges.len().saturating_sub(1));
        for counts in processes.iter().chain([&total]) {
            targets.extend_from_slice(counts);
            targets.push(counts.iter().sum());
        }
    }
    targets
}

fn summed(processes: &[Vec<f64>], bins: usize) -> Vec<f64> {
    let mut total = vec![0.0; bins];
    for counts in processes {
        total.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }
    total
}

/// Returns the name by which plots and tables show one of several observables of a channel.
pub(crate) fn projection_name(channel: &str, observable: &str) -> String {
    format!("{channel}, {observable}")
}

/// Returns the positions at which the curves of a view (one observable of one channel) are evaluated: both ends of
/// every bin, and points between the ends.
fn positions(view: &View<'_>) -> Vec<f64> {
    let steps = |ends: &[f64]| {
        let (from, to) = (ends[0], ends[1]);
        (0..=STEPS).map(move |i| if i == STEPS { to } else { from + (to - from) * i as f64 / STEPS as f64 })
    };
    view.edges.windows(2).flat_map(steps).collect()
}

/// Returns the ends of the intervals into which the curves of a plot divide the bins.
fn parts(edges: &[f64]) -> Vec<f64> {
    let steps = |ends: &[f64]| {
        let (from, to) = (ends[0], ends[1]);
        (0..STEPS).map(move |i| from + (to - from) * i as f64 / STEPS as f64)
    };
    edges.windows(2).flat_map(steps).chain(edges.last().copied()).collect()
}

/// Returns the values of a function at the ends of intervals of equal length, from its means over the intervals: those of
/// a polynomial of third degree with the means of the four nearest intervals.
fn at_ends(means: &[f64]) -> Vec<f64> {
    let is_positive = means.iter().all(|mean| *mean >= 0.0);
    let value = |end: usize| {
        let first = end.saturating_sub(2).min(means.len().saturating_sub(4));
        let weights = match end - first {
            0 => [25.0, -23.0, 13.0, -3.0],
            1 => [3.0, 13.0, -5.0, 1.0],
            2 => [-1.0, 7.0, 7.0, -1.0],
            3 => [1.0, -5.0, 13.0, 3.0],
            _ => [-3.0, 13.0, -23.0, 25.0],
        };
        let value = weights.iter().zip(&means[first..]).map(|(w, mean)| w * mean).sum::<f64>() / 12.0;
        // The polynomial may pass below 0 beside a step.
        if is_positive { value.max(0.0) } else { value }
    };
    (0..=means.len()).map(value).collect()
}

/// Moves the positions that are ends of bins a little into their bin. If the density has a step at an edge, the
/// density at such a position is then that of its own bin.
fn inside(edges: &[f64], positions: &[f64]) -> Vec<f64> {
    let moved = |(i, x): (usize, &f64)| {
        let (bin, step) = (i / (STEPS + 1), i % (STEPS + 1));
        let width = edges.get(bin..bin + 2).map_or(0.0, |ends| ends[1] - ends[0]);
        match step {
            0 => x + 1e-9 * width,
            STEPS => x - 1e-9 * width,
            _ => *x,
        }
    };
    positions.iter().enumerate().map(moved).collect()
}

/// Returns one number per bin of a view (one observable of one channel): the sum of `of(weight)` over the events in
/// the bin.
fn counted(view: &View<'_>, table: &EventTable, of: impl Fn(f64) -> f64) -> Vec<f64> {
    let mut counts = vec![0.0; view.edges.len().saturating_sub(1)];
    let empty: Arc<[f64]> = Arc::from([]);
    let column = table.columns.get(view.observable).unwrap_or(&empty);
    for (event, x) in column.iter().enumerate() {
        let weight = table.weights.as_ref().and_then(|w| w.get(event)).copied().unwrap_or(1.0);
        // The last bin includes its upper edge.
        let bin = view.edges.partition_point(|edge| edge <= x).clamp(1, counts.len().max(1)) - 1;
        if let Some(count) = counts.get_mut(bin) {
            *count += of(weight);
        }
    }
    counts
}

/// Returns the edges of the bins of an observable. If the data are binned, these are the edges of the data. Otherwise
/// there are about forty bins over the fit ranges. In a channel with a density that is not a formula, each bin covers a whole
/// number of the panels into which such densities divide the fit ranges.
fn edges(channel: &EventChannel, observable: usize) -> Vec<f64> {
    if let Some(edges) = channel.binning.as_ref().and_then(|binning| binning.edges.get(observable)) {
        return edges.clone();
    }
    let mut ranges: Vec<(f64, f64)> =
        channel.boxes().iter().filter_map(|region| region.get(observable).copied()).collect();
    ranges.sort_by(|a, b| a.0.total_cmp(&b.0));
    ranges.dedup();
    let observables = if channel.has_formulas() { 1 } else { channel.observables.len() };
    let panels = EventShapes::panels(observables);
    let total: f64 = ranges.iter().map(|(low, high)| high - low).sum();
    let mut edges: Vec<f64> = Vec::new();
    for (low, high) in ranges {
        let wish = BINS * (high - low) / total;
        let divides = |n: &usize| panels.is_multiple_of(*n);
        let nearest = |a: &usize, b: &usize| (*a as f64 - wish).abs().total_cmp(&(*b as f64 - wish).abs());
        let bins = (1..=panels).filter(divides).min_by(nearest).unwrap_or(1);
        if edges.last() != Some(&low) {
            edges.push(low);
        }
        edges.extend((1..bins).map(|i| low + (high - low) * i as f64 / bins as f64));
        edges.push(high);
    }
    edges
}

/// Returns whether a value depends on a parameter, either directly or through functions.
fn depends(model: &Model, value: Value, parameter: usize) -> bool {
    match value {
        Value::Number(_) => false,
        Value::Parameter(p) => p == parameter,
        // A function can depend only on earlier functions.
        Value::Function(f) => model
            .functions
            .get(f)
            .is_some_and(|function| function.form.values().into_iter().any(|v| depends(model, v, parameter))),
    }
}
