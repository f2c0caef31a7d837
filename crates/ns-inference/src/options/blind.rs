//! Data with blinded channels: their counts are those that a fit of the other channels expects.

use ns_compute::CpuSession;
use ns_core::{
    Control, Data, EvaluationRequest, Execution, FitStatus, Model, Observations, OutcomeParts, Session,
    TaskOutcome,
};
use serde::{Deserialize, Serialize};

use super::fit::{FitData, FitOptions};
use crate::{InferenceError, diagnosis};

/// Channels whose observed counts an analysis does not use.
///
/// In their place, the analysis uses the counts that a fit of the other channels expects. This fit is that of a model
/// without the blinded channels, with all constraint terms. A parameter that only blinded channels use stays at the datum of
/// its constraint; without a constraint it stays at its start value. All auxiliary data are the observed ones.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Blind {
    /// Names of the blinded channels.
    pub channels: Vec<String>,
    /// Value of the parameter of interest in the fit of the other channels and in the expected counts. `None` means the
    /// fitted value if other channels determine it, and the start value if not.
    #[serde(default)]
    pub poi: Option<f64>,
}

impl Blind {
    /// Blinds the channels with the given names.
    #[must_use]
    pub fn new(channels: Vec<String>, poi: Option<f64>) -> Self {
        Self { channels, poi }
    }

    /// Returns a sentence that says which data are not observed.
    #[must_use]
    pub fn note(&self) -> String {
        let poi = self.poi.map_or_else(String::new, |value| {
            format!(", with the parameter of interest at {}", crate::present::exact(value))
        });
        format!(
            "blinded: the data of {} are what a fit of the other channels expects{poi}",
            diagnosis::list(self.channels.iter().map(String::as_str))
        )
    }
}

/// Returns the data of a model in which `blind` names the blinded channels. `options` give the fixed parameters, the
/// starting point and the search of the fit of the other channels.
///
/// # Errors
/// [`InferenceError::CannotBlind`] if a name is no binned channel, if no channel or all channels are blinded, or if the fit
/// does not converge; [`InferenceError::Unobserved`] if another channel has no data. Also the errors of the fit.
pub(crate) fn data(
    model: &Model,
    session: &dyn Session,
    options: &FitOptions,
    blind: &Blind,
) -> Result<Data, InferenceError> {
    check(model, blind)?;
    let is_blinded = |name: &String| blind.channels.contains(name);
    let unobserved: Vec<String> = model.unobserved.iter().filter(|name| !is_blinded(name)).cloned().collect();
    if !unobserved.is_empty() {
        return Err(InferenceError::Unobserved { channels: unobserved });
    }
    let others = without(model, &blind.channels);
    let point = fitted(&others, options, blind)?;
    let request = EvaluationRequest { expected: true, ..EvaluationRequest::default() };
    let expected = session.evaluate(&Data::observed(), &point, request)?.expected;
    let mut main = model.observed.main.clone();
    for channel in model.channels.iter().filter(|channel| is_blinded(&channel.name)) {
        let bins = channel.first_bin..channel.first_bin + channel.n_bins;
        for (bin, (count, value)) in main.iter_mut().zip(&expected).enumerate() {
            if !bins.contains(&bin) {
                continue;
            }
            if !(*value >= 0.0 && value.is_finite()) {
                let (purpose, place) = ("the blinded data cannot be made", diagnosis::bin_place(model, bin));
                return Err(InferenceError::Expectation { purpose, place, value: *value });
            }
            *count = *value;
        }
    }
    Ok(Observations { main, ..model.observed.clone() }.into())
}

/// Returns an error unless all names are those of binned channels, and other channels are left.
fn check(model: &Model, blind: &Blind) -> Result<(), InferenceError> {
    let cannot = |problem: String| Err(InferenceError::CannotBlind { problem });
    for name in &blind.channels {
        if model.channels.iter().any(|channel| channel.name == *name) {
            continue;
        }
        if model.event_channels.iter().any(|channel| channel.name == *name) {
            return cannot(format!(
                "'{name}' is a channel of single events, and only channels with bins can be blinded; fit Asimov data"
            ));
        }
        let known = diagnosis::list(model.channels.iter().map(|channel| channel.name.as_str()));
        return cannot(format!("the model has no channel '{name}'; its channels with bins are {known}"));
    }
    let is_left = |name: &String| !blind.channels.contains(name);
    let mut names =
        model.channels.iter().map(|c| &c.name).chain(model.event_channels.iter().map(|c| &c.name));
    match names.any(is_left) {
        _ if blind.channels.is_empty() => {
            cannot("no channel is named; name one, or use the observed data".to_owned())
        }
        false => cannot("all channels are blinded; name fewer, or fit Asimov data".to_owned()),
        true => Ok(()),
    }
}

/// Returns the model without the given binned channels. Its parameters are all those of `model`.
fn without(model: &Model, blinded: &[String]) -> Model {
    let mut others = model.clone();
    others.channels.retain(|channel| !blinded.contains(&channel.name));
    let mut main = Vec::with_capacity(model.observed.main.len());
    for channel in &mut others.channels {
        let first = std::mem::replace(&mut channel.first_bin, main.len());
        main.extend(model.observed.main.iter().skip(first).take(channel.n_bins));
    }
    others.observed.main = main;
    others.unobserved.clear();
    others.warnings.clear();
    others.open.clear();
    others
}

/// Fits a model without blinded channels, and returns the best-fit values of all parameters.
fn fitted(others: &Model, options: &FitOptions, blind: &Blind) -> Result<Vec<f64>, InferenceError> {
    let start = options.start.as_ref().map(|point| point.values(others)).transpose()?;
    let start: Vec<f64> = start.unwrap_or_else(|| others.parameters.iter().map(|p| p.init).collect());
    let used = used(others);
    let mut wanted = FitOptions {
        data: FitData::Observed,
        fixed: Vec::new(),
        start: options.start.clone(),
        search: options.search,
        integral_tolerance: options.integral_tolerance,
        ..FitOptions::default()
    }
    .uncertainties(false);
    for ((parameter, used), value) in others.parameters.iter().zip(used).zip(start.iter()) {
        if !used && !parameter.fixed {
            wanted = wanted.fix(&parameter.name, *value);
        }
    }
    if let Some(value) = blind.poi {
        if others.pois.is_empty() {
            return Err(InferenceError::NoPoi {
                analysis: "blinded data at a given value",
                measurement: others.measurement.clone(),
                format: others.format,
            });
        }
        // As in Asimov data, all parameters of interest have the value.
        for poi in others.pois.iter().filter_map(|&i| others.parameters.get(i)) {
            wanted = wanted.fix(&poi.name, value);
        }
    }
    for (name, value) in &options.fixed {
        wanted = wanted.fix(name, *value);
    }
    let session = CpuSession::open(others, &Execution { threads: 1, ..Execution::default() })?;
    let task = wanted.task(others, &session)?;
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    session.fit_batch(&[task], OutcomeParts::default(), Control::default(), &mut outcomes)?;
    let outcome = match outcomes.pop().and_then(|mut outcome| outcome.fits.pop()) {
        None => return Err(InferenceError::Cancelled),
        Some(Err(failure)) => {
            return Err(InferenceError::FitFailed { reason: diagnosis::failure(others, &failure) });
        }
        Some(Ok(outcome)) => outcome,
    };
    if outcome.status != FitStatus::Converged {
        return Err(InferenceError::CannotBlind {
            problem: format!(
                "the fit of the other channels did not converge ({}); fit them alone to find out why",
                diagnosis::termination(&outcome)
            ),
        });
    }
    Ok(outcome.parameters)
}

/// Returns for each parameter whether a channel or a constraint term depends on it.
fn used(model: &Model) -> Vec<bool> {
    let mut used: Vec<bool> = model.parameters.iter().map(|p| p.constraint.aux().is_some()).collect();
    let mut note = |indices: Vec<usize>| {
        for i in indices {
            if let Some(place) = used.get_mut(i) {
                *place = true;
            }
        }
    };
    for channel in &model.channels {
        for modifier in channel.samples.iter().flat_map(|sample| &sample.modifiers) {
            note(model.acting_parameters(modifier, channel.n_bins));
        }
    }
    let mut densities = Vec::new();
    for process in model.event_channels.iter().flat_map(|channel| &channel.processes) {
        note(model.dependencies(process.rate));
        densities.push(&process.density);
    }
    while let Some(density) = densities.pop() {
        for value in density.own_values() {
            note(model.dependencies(value));
        }
        densities.extend(density.parts());
    }
    for value in model.penalties.iter().flat_map(|penalty| penalty.form.values()) {
        note(model.dependencies(value));
    }
    used
}
