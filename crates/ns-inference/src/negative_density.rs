//! Event channels whose density is negative somewhere at the best fit. Such a function is no probability density. The
//! likelihood may then grow without end: as the integral tends to 0, so does the denominator of the density at every event.

use ns_compute::{EventShapes, Level};
use ns_core::{Density, EventChannel, FitOutcome, FitStatus, Model, Reason};

use crate::present::significant;

/// Largest number of points at which the density of a channel is computed.
const MOST_POINTS: usize = 2_000;
/// Largest number of points along one observable.
const MOST_ALONG: usize = 401;
/// A density counts as negative if it is below the mean of its absolute values by this factor, which is more than
/// rounding errors.
const CLEARLY: f64 = 1e-6;
/// The integral of a density counts as 0 if it is at most this fraction of the integral of its absolute value.
const VANISHES: f64 = 1e-6;

/// Examines the densities of all event channels at the minimum. Returns a warning for each channel whose density is
/// negative somewhere. If positive and negative parts of a density cancel, the outcome loses its certificate, because the
/// likelihood has no maximum there.
pub(crate) fn warnings(model: &Model, outcome: &mut FitOutcome) -> Vec<String> {
    let mut notes = Vec::new();
    let mut shapes = None;
    for (index, channel) in model.event_channels.iter().enumerate() {
        if !channel.processes.iter().any(|process| may_be_negative(&process.density)) {
            continue;
        }
        let shapes = shapes.get_or_insert_with(|| EventShapes::new(model, Level::detect()));
        let Ok(shapes) = shapes else { return notes };
        let Some(found) = examined(shapes, channel, index, &outcome.parameters) else { continue };
        let place: Vec<String> = channel
            .observables
            .iter()
            .zip(&found.place)
            .map(|(axis, x)| format!("{} = {}", axis.name, significant(*x)))
            .collect();
        let (name, place) = (&channel.name, place.join(", "));
        if found.cancels {
            if outcome.converged() {
                outcome.status = FitStatus::NotConverged(Reason::Unbounded);
            }
            notes.push(format!(
                "the density of event channel '{name}' is negative where no event lies, and its integral tends to 0, so that \
                 the likelihood grows without end and has no maximum; narrow the bounds of the coefficients, or use a density \
                 that cannot be negative, such as a Bernstein polynomial whose coefficients have the lower bound 0"
            ));
            continue;
        }
        let share = (100.0 * found.share).max(0.1);
        notes.push(format!(
            "the density of event channel '{name}' at the best fit is negative in about {share:.1} % of the fit range, most at \
             {place}, so it is no probability density; no event lies there, and the likelihood gains from it; narrow the bounds of \
             the coefficients, or use a density that cannot be negative, such as a Bernstein polynomial whose coefficients have \
             the lower bound 0"
        ));
    }
    notes
}

/// Returns whether a density may be negative for some values of its parameters.
fn may_be_negative(density: &Density) -> bool {
    match density {
        Density::Polynomial { .. }
        | Density::Chebyshev { .. }
        | Density::Bernstein { .. }
        | Density::Spline { .. }
        | Density::Generic(_) => true,
        Density::Decay(own) => own.oscillation.is_some(),
        Density::Given(own) => may_be_negative(&own.density),
        _ => density.parts().iter().any(may_be_negative),
    }
}

/// Where and how much a density is negative.
struct Negative {
    /// Observables at the lowest density found.
    place: Vec<f64>,
    /// Fraction of the points at which the density is negative.
    share: f64,
    /// Whether positive and negative parts of a process cancel.
    cancels: bool,
}

/// Computes the density of a channel on a grid of points in its fit ranges. Returns `None` if it is nowhere clearly
/// negative.
fn examined(
    shapes: &EventShapes,
    channel: &EventChannel,
    index: usize,
    parameters: &[f64],
) -> Option<Negative> {
    if !channel.has_formulas() {
        return None;
    }
    let (columns, volumes) = grid(channel);
    let views: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    let mut density = vec![0.0; volumes.len()];
    // The integrals of the densities of the processes. The sums over the points would not be exact enough. The total of
    // all processes may be 0 at a minimum: the expected number of events is not negative.
    let integrals = shapes.rates(parameters, index);
    let mut cancels = false;
    for (process, integral) in shapes.densities(parameters, index, &views).into_iter().zip(integrals) {
        let of_process = size(&process, &volumes);
        cancels |= of_process > 0.0 && integral.abs() <= VANISHES * of_process;
        density.iter_mut().zip(process).for_each(|(sum, part)| *sum += part);
    }
    let mean = size(&density, &volumes) / volumes.iter().sum::<f64>();
    let negative = |f: f64| f < -CLEARLY * mean;
    let (lowest, value) = density
        .iter()
        .copied()
        .enumerate()
        .filter(|(_, f)| f.is_finite())
        .min_by(|a, b| a.1.total_cmp(&b.1))?;
    if !negative(value) {
        return None;
    }
    let below: f64 = density.iter().zip(&volumes).filter(|(f, _)| negative(**f)).map(|(_, v)| v).sum();
    Some(Negative {
        place: columns.iter().filter_map(|column| column.get(lowest)).copied().collect(),
        share: below / volumes.iter().sum::<f64>(),
        cancels,
    })
}

/// Returns the integral of the absolute value of a density over a grid of points.
fn size(density: &[f64], volumes: &[f64]) -> f64 {
    density.iter().zip(volumes).filter(|(f, _)| f.is_finite()).map(|(f, v)| f.abs() * v).sum()
}

/// Returns the columns of a grid of points in the fit ranges of a channel, and the volume that belongs to each point.
/// A point lies in the middle of its cell.
fn grid(channel: &EventChannel) -> (Vec<Vec<f64>>, Vec<f64>) {
    let boxes = channel.boxes();
    let d = channel.observables.len().max(1);
    let share = MOST_POINTS / boxes.len().max(1);
    let along = ((share as f64).powf(1.0 / d as f64) as usize).clamp(1, MOST_ALONG);
    let mut columns = vec![Vec::new(); channel.observables.len()];
    let mut volumes = Vec::new();
    for sides in &boxes {
        let volume: f64 = sides.iter().map(|(low, high)| (high - low) / along as f64).product();
        for cell in 0..along.pow(d as u32) {
            let mut rest = cell;
            for (column, (low, high)) in columns.iter_mut().zip(sides) {
                column.push(low + (high - low) * ((rest % along) as f64 + 0.5) / along as f64);
                rest /= along;
            }
            volumes.push(volume);
        }
    }
    (columns, volumes)
}
