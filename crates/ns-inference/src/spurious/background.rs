//! The data that a background expects.

use ns_core::{Control, Data, Device, EventChannel, Model, Observations, OutcomeParts};

use crate::analysis::Analysis;
use crate::look_elsewhere::Axis;
use crate::{FitOptions, InferenceError, SessionOpener, diagnosis};

/// The expected data of a background, as data of the tested model.
pub(super) struct Expected {
    pub(super) data: Data,
    pub(super) n_events: f64,
    pub(super) warnings: Vec<String>,
    pub(super) converged: bool,
}

/// Fits the model `background` to its own data without signal, and returns the data that it expects then, as data of `model`.
/// Its events are the nodes of a rule of integration that holds with a signal at each place, if the background has the
/// signal too.
pub(super) fn expected(
    (name, background): (&str, &Model),
    model: &Model,
    axis: &Axis,
    (options, opener, control): (&FitOptions, &dyn SessionOpener, Control<'_>),
) -> Result<Expected, InferenceError> {
    let session = opener.open(background, Some(Device::Cpu))?;
    let mut own = FitOptions::default().search(options.search);
    own.integral_tolerance = options.integral_tolerance;
    let poi = background.poi().and_then(|i| background.parameters.get(i).map(|p| (i, p.name.clone())));
    if let Some((_, poi)) = &poi {
        own = own.fix(poi.clone(), 0.0);
    }
    let mut analysis = Analysis::new(background, session.as_ref(), &own, control)?;
    let (data, request) = (analysis.data.clone(), analysis.base.clone());
    let fit = analysis.fit(&data, request, OutcomeParts::default())?;
    let mut warnings = Vec::new();
    if !fit.converged() {
        let problems = diagnosis::not_converged(background, &fit).join("; ");
        warnings.push(format!("background {name}: {problems}"));
    }
    let place = axis.name(model).and_then(|param| background.parameter_index(param));
    let visited: Vec<Vec<f64>> = match (&poi, place) {
        (Some((poi, _)), Some(place)) => {
            let strength = background.parameters.get(*poi).map_or(1.0, |p| {
                let size = if p.init > 0.0 { p.init } else { 1.0 };
                size.min(p.bounds.1)
            });
            let at = |x: &f64| {
                let mut point = fit.parameters.clone();
                for (index, value) in [(*poi, strength), (place, *x)] {
                    if let Some(to) = point.get_mut(index) {
                        *to = value;
                    }
                }
                point
            };
            axis.places.iter().map(at).collect()
        }
        _ => Vec::new(),
    };
    if visited.is_empty() && !background.event_channels.is_empty() {
        warnings.push(format!(
            "background {name} has no signal with the parameter of the places, so that narrow signals may be integrated badly; \
             give it the signal of the model"
        ));
    }
    let points: Vec<&[f64]> = visited.iter().map(Vec::as_slice).collect();
    let made = session
        .asimov_for(&fit.parameters, &points, &data)
        .map_err(|error| diagnosis::expectation(background, "the expected data cannot be made", error))?;
    let observations = transferred(name, background, made.counts(background), model)?;
    let n_events = observations.main.iter().sum::<f64>()
        + observations.events.iter().map(|table| table.sum_of_weights()).sum::<f64>();
    Ok(Expected { data: observations.into(), n_events, warnings, converged: fit.converged() })
}

/// Returns data of `background` as data of `model`. The auxiliary data are those of `model`.
fn transferred(
    name: &str,
    background: &Model,
    counts: &Observations,
    model: &Model,
) -> Result<Observations, InferenceError> {
    let bad =
        |problem: String| InferenceError::BadPlaces { problem: format!("background {name}: {problem}") };
    let mut main = Vec::with_capacity(model.n_bins());
    for channel in &model.channels {
        let same = |other: &&ns_core::Channel| other.name == channel.name && other.n_bins == channel.n_bins;
        let other = background.channels.iter().find(same).ok_or_else(|| {
            bad(format!(
                "it has no channel '{}' with {} bins; give it the channels of the model",
                channel.name, channel.n_bins
            ))
        })?;
        let bins = counts.main.get(other.first_bin..other.first_bin + other.n_bins);
        main.extend_from_slice(bins.unwrap_or_default());
    }
    let mut events = Vec::with_capacity(model.event_channels.len());
    for channel in &model.event_channels {
        let same = |other: &EventChannel| {
            other.name == channel.name && axes(other) == axes(channel) && other.boxes() == channel.boxes()
        };
        let table = background.event_channels.iter().position(same).and_then(|k| counts.events.get(k));
        let table = table.ok_or_else(|| {
            bad(format!(
                "it has no event channel '{}' with the same observables and ranges; give it the channels of the model",
                channel.name
            ))
        })?;
        events.push(table.clone());
    }
    Ok(Observations { main, aux: model.observed.aux.clone(), events })
}

/// Returns the names and limits of the axes of a channel.
fn axes(channel: &EventChannel) -> Vec<(&str, f64, f64)> {
    channel.observables.iter().map(|axis| (axis.name.as_str(), axis.min, axis.max)).collect()
}
