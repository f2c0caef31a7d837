//! The Kolmogorov-Smirnov distance between events and the fitted density.

use std::sync::Arc;

use ns_compute::{EventShapes, Level};
use ns_core::{Density, EventChannel, EventTable, Model, SessionError};

use super::events::{ChannelGoodness, EventStatistic};
use crate::InferenceError;

/// Number of equal parts into which each fit range is divided. The density is integrated over each part.
const PARTS: usize = 200;
/// If an integral over all fit ranges has a larger relative error, the parts are divided further.
const TOLERANCE: f64 = 1e-7;
/// Number of equal parts into which each part is divided further.
const FINER: usize = 8;

/// Largest number of times that the parts are divided further.
const MOST_DIVISIONS: usize = 3;
/// Largest relative error of the integral of a converged result.
const MOST_ERROR: f64 = 1e-4;

/// Number of integration intervals for which the density is evaluated in one call.
const BATCH: usize = 1 << 16;

/// The densities of all event channels, and the points at which their integrals are split. Each channel has one
/// observable.
pub(super) struct Distances {
    shapes: EventShapes,
    channels: Vec<Line>,
}

/// The fit ranges of the observable of one channel, and the points at which integrals over this observable are split.
struct Line {
    /// The channel, which computes the log-densities that do not depend on parameters.
    channel: EventChannel,
    /// Lower and upper ends of the fit ranges, in ascending order.
    ranges: Vec<(f64, f64)>,
    /// Points at which integrals are split, in ascending order: the ends of the [`PARTS`] equal parts of each fit
    /// range, and the points where the density or its derivative may jump.
    breaks: Vec<f64>,
}

impl Distances {
    pub(super) fn new(model: &Model) -> Result<Self, InferenceError> {
        let refused = |reason: String| {
            let statistic = EventStatistic::Ks.name();
            InferenceError::NoEventStatistic { statistic, reason }
        };
        let mut channels = Vec::with_capacity(model.event_channels.len());
        for channel in &model.event_channels {
            if channel.observables.len() != 1 {
                return Err(refused(format!(
                    "channel '{}' has {} observables, and the distance needs one; use chi2",
                    channel.name,
                    channel.observables.len()
                )));
            }
            if channel.binning.is_some() {
                let name = &channel.name;
                return Err(refused(format!(
                    "the data of channel '{name}' are bins, not single events; use chi2"
                )));
            }
            let boxes = channel.boxes();
            let mut ranges: Vec<(f64, f64)> =
                boxes.iter().filter_map(|region| region.first().copied()).collect();
            ranges.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut breaks: Vec<f64> = ranges
                .iter()
                .flat_map(|&(low, high)| {
                    (0..=PARTS).map(move |i| low + (high - low) * i as f64 / PARTS as f64)
                })
                .collect();
            channel.processes.iter().for_each(|process| jumps(&process.density, &mut breaks));
            breaks.sort_by(f64::total_cmp);
            channels.push(Line { channel: channel.clone(), ranges, breaks });
        }
        let shapes = EventShapes::new(model, Level::detect()).map_err(SessionError::from)?;
        Ok(Self { shapes, channels })
    }

    /// Returns the Kolmogorov-Smirnov distance of each channel: the largest distance between the distribution
    /// function of the events and that of the fitted density.
    pub(super) fn channels(
        &self,
        parameters: &[f64],
        tables: &[Arc<EventTable>],
    ) -> Result<Vec<ChannelGoodness>, InferenceError> {
        let all = self.channels.iter().enumerate().zip(tables).map(|((index, line), table)| {
            let mut events: Vec<f64> = table.columns.first().map(|x| x.to_vec()).unwrap_or_default();
            events.sort_by(f64::total_cmp);
            let n = events.len() as f64;
            let (below, _) = self.below(parameters, (index, line), &events)?;
            let distance = |(i, f): (usize, &f64)| ((i + 1) as f64 / n - f).max(f - i as f64 / n);
            Ok(ChannelGoodness {
                name: line.channel.name.clone(),
                value: below.iter().enumerate().map(distance).fold(0.0, f64::max),
                n_events: n,
                n_bins: None,
                least_expected: None,
            })
        });
        all.collect()
    }

    /// Returns a warning for each channel whose density is integrated inexactly. `tables` are the events of each channel.
    pub(super) fn inexact(
        &self,
        parameters: &[f64],
        tables: &[Arc<EventTable>],
    ) -> Result<Vec<String>, InferenceError> {
        let of = |((index, line), table): ((usize, &Line), &Arc<EventTable>)| -> Result<_, InferenceError> {
            let mut events: Vec<f64> = table.columns.first().map(|x| x.to_vec()).unwrap_or_default();
            events.sort_by(f64::total_cmp);
            let (_, error) = self.below(parameters, (index, line), &events)?;
            let warning = format!(
                "the distance of channel '{}' is not exact: the integral of its density has a relative error of about \
                 {error:.1e}; shorten the fit range around narrow peaks, or use chi2",
                line.channel.name
            );
            Ok((!(error <= MOST_ERROR)).then_some(warning))
        };
        self.channels.iter().enumerate().zip(tables).filter_map(|pair| of(pair).transpose()).collect()
    }

    /// Returns one probability per event: the integral of the fitted density over all values of the observable below
    /// that of the event. `events` are the values of the observable, in ascending order. The integral is split at the
    /// events and at the breaks of the channel. Each part is computed by the Gauss-Legendre rule with five nodes. If the
    /// integral over all values is not that of the normalised density, the parts are divided further. The second result
    /// is the relative error of the integral.
    fn below(
        &self,
        parameters: &[f64],
        (index, line): (usize, &Line),
        events: &[f64],
    ) -> Result<(Vec<f64>, f64), InferenceError> {
        let expected: f64 = self.shapes.rates(parameters, index).iter().sum();
        let mut points: Vec<f64> = line.breaks.iter().chain(events).copied().collect();
        points.sort_by(f64::total_cmp);
        points.dedup();
        let mut divisions = 0;
        loop {
            let (below, sum) = self.with_parts(parameters, (index, line), events, &points)?;
            let error = (sum / expected - 1.0).abs();
            if error <= TOLERANCE || divisions == MOST_DIVISIONS {
                return Ok((below, error));
            }
            divisions += 1;
            let divided = |pair: &[f64]| {
                let (from, to) = (pair[0], pair[1]);
                (0..FINER).map(move |i| from + (to - from) * i as f64 / FINER as f64)
            };
            // Intervals between events are short already.
            let mut parts: Vec<f64> = line.breaks.clone();
            for _ in 0..divisions {
                let last = parts.last().copied();
                parts = parts.windows(2).flat_map(divided).chain(last).collect();
            }
            points = parts.into_iter().chain(events.iter().copied()).collect();
            points.sort_by(f64::total_cmp);
            points.dedup();
        }
    }

    /// Returns the integral of the density below each event, divided by the integral over all values, and the latter.
    /// `points` are the points at which the integral is split, in ascending order.
    fn with_parts(
        &self,
        parameters: &[f64],
        (index, line): (usize, &Line),
        events: &[f64],
        points: &[f64],
    ) -> Result<(Vec<f64>, f64), InferenceError> {
        let within = |x: f64| line.ranges.iter().any(|(low, high)| *low < x && x < *high);
        let intervals: Vec<(f64, f64)> = points
            .windows(2)
            .filter_map(|pair| match pair {
                [a, b] if within(0.5 * (a + b)) => Some((*a, *b)),
                _ => None,
            })
            .collect();
        let mut sum = 0.0;
        let mut ends: Vec<(f64, f64)> = Vec::with_capacity(intervals.len());
        for batch in intervals.chunks(BATCH) {
            let nodes: Vec<f64> = batch
                .iter()
                .flat_map(|(a, b)| gauss().map(|(node, _)| 0.5 * (a + b) + 0.5 * (b - a) * node))
                .collect();
            let nodes = EventTable { columns: vec![nodes.into()], weights: None };
            let nodes = line.channel.complete(nodes).map_err(SessionError::from)?;
            let columns: Vec<&[f64]> = nodes.columns.iter().map(AsRef::as_ref).collect();
            let parts = self.shapes.densities(parameters, index, &columns);
            for (i, (a, b)) in batch.iter().enumerate() {
                for (j, (_, weight)) in gauss().iter().enumerate() {
                    let density: f64 = parts.iter().filter_map(|part| part.get(5 * i + j)).sum();
                    sum += 0.5 * (b - a) * weight * density;
                }
                ends.push((*b, sum));
            }
        }
        let at = |x: &f64| match ends.partition_point(|(end, _)| end <= x) {
            0 => 0.0,
            place => ends.get(place - 1).map_or(0.0, |(_, before)| before / sum),
        };
        Ok((events.iter().map(at).collect(), sum))
    }
}

/// Adds to `to` the points where a density or its derivative may jump.
fn jumps(density: &Density, to: &mut Vec<f64>) {
    match density {
        Density::Histogram { edges, .. } | Density::Template { edges, .. } => {
            to.extend(edges.iter().flatten())
        }
        Density::Spline { knots, .. } => to.extend(knots),
        _ => {}
    }
    density.parts().iter().for_each(|part| jumps(part, to));
}

/// Nodes and weights of the Gauss-Legendre rule with five nodes on the interval from -1 to 1.
fn gauss() -> [(f64, f64); 5] {
    let (root, seventy) = ((10.0_f64 / 7.0).sqrt(), 70.0_f64.sqrt());
    let (inner, outer) = ((5.0 - 2.0 * root).sqrt() / 3.0, (5.0 + 2.0 * root).sqrt() / 3.0);
    let (large, small) = ((322.0 + 13.0 * seventy) / 900.0, (322.0 - 13.0 * seventy) / 900.0);
    [(-outer, small), (-inner, large), (0.0, 128.0 / 225.0), (inner, large), (outer, small)]
}
