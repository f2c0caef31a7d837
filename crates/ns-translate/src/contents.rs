//! The contents of a workspace or an HS3 model: channels, samples, parameters, modifiers and problems.

use std::collections::BTreeMap;

use ns_core::{Constraint, Density, Effect, Model, Value, WeightSys};
use serde::Serialize;

use crate::ModelSource;
use crate::pyhf::{ModelOptions, Problem, Report, Severity, WorkspaceError};

/// The result of `inspect` and `validate`. For a workspace with errors, the fields from `measurement` to
/// `modifier_counts` are null.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Contents {
    /// Format of the file, such as `pyhf workspace` or `HS3 model`; null for a file with errors.
    pub format: Option<&'static str>,
    /// Name of the measurement.
    pub measurement: Option<String>,
    /// Names of all measurements of a workspace; null for an HS3 model.
    pub measurements: Option<Vec<String>>,
    /// Name of the first parameter of interest, if there is one.
    pub poi: Option<String>,
    /// Names of all parameters of interest, if there are several; otherwise absent from the JSON.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pois: Vec<String>,
    /// The channels, in the model's order.
    pub channels: Option<Vec<ChannelRow>>,
    /// Channels in which single events are fitted; absent from the JSON if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub event_channels: Vec<EventChannelRow>,
    /// Functions of parameters; absent from the JSON if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<FunctionRow>,
    /// Correlated constraints, one item per matrix.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub correlations: Vec<CorrelationRow>,
    /// The samples, ordered by name.
    pub samples: Option<Vec<SampleRow>>,
    /// The parameters, in the model's order.
    pub parameters: Option<Vec<ParameterRow>>,
    /// Number of modifiers of each type in all samples.
    pub modifier_counts: Option<BTreeMap<&'static str, usize>>,
    /// Errors and warnings, each with its place and a remedy.
    pub problems: Vec<ProblemRow>,
    /// Number of further errors that are not in `problems`.
    pub problems_omitted: usize,
    /// Whether there are no errors.
    pub valid: bool,
    /// Warnings about the model, in words.
    pub warnings: Vec<String>,
}

/// A binned channel in [`Contents`]. `observed` is the observed number of events and `nominal` the nominal expected
/// number, both summed over the bins.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ChannelRow {
    /// Name.
    pub name: String,
    /// Number of bins.
    pub n_bins: usize,
    /// Observed number of events.
    pub observed: f64,
    /// Nominal expected number of events.
    pub nominal: f64,
    /// Names of the samples.
    pub samples: Vec<String>,
}

/// An event channel in [`Contents`]. `n_events` counts the events in the fit ranges. `weight` is the sum of the
/// weights of these events.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct EventChannelRow {
    /// Name.
    pub name: String,
    /// Names of the observables.
    pub observables: Vec<String>,
    /// Number of events in the fit ranges.
    pub n_events: usize,
    /// Sum of the weights of the events in the fit ranges.
    pub weight: f64,
    /// Whether the number of events is part of the likelihood.
    pub extended: bool,
    /// Names of the processes.
    pub processes: Vec<String>,
}

/// A function of parameters in [`Contents`].
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct FunctionRow {
    /// Name.
    pub name: String,
    /// Formula, with the names of the parameters and functions that it uses.
    pub formula: String,
}

/// Correlated constraints in [`Contents`].
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CorrelationRow {
    /// Names of the parameters.
    pub parameters: Vec<String>,
    /// Correlation matrix, one list per row.
    pub correlations: Vec<Vec<f64>>,
}

/// A sample in [`Contents`]. The nominal expected number of events (`nominal`) and the number of modifiers
/// (`n_modifiers`) are sums over all channels that contain the sample.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SampleRow {
    /// Name.
    pub name: String,
    /// Names of the channels that contain the sample.
    pub channels: Vec<String>,
    /// Nominal expected number of events.
    pub nominal: f64,
    /// Number of modifiers.
    pub n_modifiers: usize,
}

/// A parameter in [`Contents`]. `width` is the width of the parameter's constraint, or null if the parameter has no
/// constraint. `modifiers` are the types of the modifiers that use the parameter.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ParameterRow {
    /// Name.
    pub name: String,
    /// Initial value.
    pub init: f64,
    /// Lower and upper bound.
    pub bounds: (f64, f64),
    /// Whether the model fixes the parameter.
    pub fixed: bool,
    /// Type of the constraint: none, gaussian or poisson.
    pub constraint: &'static str,
    /// Width of the constraint; null if there is none.
    pub width: Option<f64>,
    /// Types of the modifiers that use the parameter.
    pub modifiers: Vec<&'static str>,
}

/// A problem of the workspace, with the JSON pointer to its place and a remedy.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ProblemRow {
    /// Severity of the problem: error or warning.
    pub severity: String,
    /// JSON pointer to the place of the problem.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub remedy: String,
}

impl From<&Problem> for ProblemRow {
    fn from(problem: &Problem) -> Self {
        Self {
            severity: problem.severity.to_string(),
            path: problem.path.clone(),
            message: problem.message.clone(),
            remedy: problem.remedy.clone(),
        }
    }
}

impl Contents {
    /// Returns the contents of a workspace without errors, and its model.
    ///
    /// # Errors
    /// The errors of [`ModelSource::model`].
    pub fn inspect(workspace: &ModelSource, options: &ModelOptions) -> Result<(Self, Model), WorkspaceError> {
        let model = workspace.model(options)?;
        let problems = workspace.validate(options.interpolation);
        Ok((Self::of(workspace, &model, problems.iter().map(ProblemRow::from).collect()), model))
    }

    /// Returns the contents and the problems of a workspace, and its model. `read` is the result of reading
    /// the workspace. For a workspace with errors, the model is `None`.
    ///
    /// # Errors
    /// Errors that do not concern the contents of the workspace, such as a missing file, and the errors of
    /// [`ModelSource::model`].
    pub fn validate(
        read: Result<ModelSource, WorkspaceError>,
        options: &ModelOptions,
    ) -> Result<(Self, Option<Model>), WorkspaceError> {
        let workspace = match read {
            Ok(workspace) => workspace,
            Err(error) => return Self::of_error(error).map(|contents| (contents, None)),
        };
        let problems = workspace.validate(options.interpolation);
        let rows: Vec<ProblemRow> = problems.iter().map(ProblemRow::from).collect();
        if problems.iter().any(|p| p.severity == Severity::Error) {
            return Ok((Self::broken(rows, 0), None));
        }
        let model = workspace.model(options)?;
        Ok((Self::of(&workspace, &model, rows), Some(model)))
    }

    /// Returns the contents of a workspace that could not be parsed: the problems that `error` lists. Any
    /// other error, such as a missing file, is returned unchanged.
    fn of_error(error: WorkspaceError) -> Result<Self, WorkspaceError> {
        match error {
            WorkspaceError::Invalid { report: Report { problems, omitted } }
            | WorkspaceError::InvalidHs3 { report: Report { problems, omitted } } => {
                Ok(Self::broken(problems.iter().map(ProblemRow::from).collect(), omitted))
            }
            WorkspaceError::Syntax { line, column, path, message, remedy } => {
                let message = format!("not valid JSON at line {line}, column {column}: {message}");
                let severity = Severity::Error.to_string();
                Ok(Self::broken(vec![ProblemRow { severity, path, message, remedy }], 0))
            }
            WorkspaceError::AfterPatch { patches, source } => Self::of_error(*source)
                .map_err(|source| WorkspaceError::AfterPatch { patches, source: Box::new(source) }),
            other => Err(other),
        }
    }

    /// Returns the contents of a workspace with errors. Only the problems are listed, because there is no model.
    fn broken(problems: Vec<ProblemRow>, problems_omitted: usize) -> Self {
        Self {
            format: None,
            measurement: None,
            measurements: None,
            poi: None,
            pois: Vec::new(),
            channels: None,
            event_channels: Vec::new(),
            functions: Vec::new(),
            correlations: Vec::new(),
            samples: None,
            parameters: None,
            modifier_counts: None,
            problems,
            problems_omitted,
            valid: false,
            warnings: vec![
                "channels, samples, parameters and modifier_counts are null: the workspace has errors"
                    .to_owned(),
            ],
        }
    }

    /// Returns the contents of a valid workspace, which are taken from the workspace and its model.
    fn of(workspace: &ModelSource, model: &Model, problems: Vec<ProblemRow>) -> Self {
        Self {
            format: Some(workspace.format()),
            measurement: Some(model.measurement.clone()),
            measurements: Some(workspace.measurement_names()),
            poi: model.poi_names().next().map(str::to_owned),
            pois: if model.pois.len() > 1 {
                model.poi_names().map(str::to_owned).collect()
            } else {
                Vec::new()
            },
            channels: Some(channels(model)),
            event_channels: event_channels(model),
            functions: functions(model),
            correlations: correlations(model),
            samples: Some(samples(model)),
            parameters: Some(parameters(model)),
            modifier_counts: Some(modifier_counts(model)),
            valid: problems.iter().all(|p| p.severity != Severity::Error.to_string()),
            problems,
            problems_omitted: 0,
            warnings: model.warnings.clone(),
        }
    }
}

fn channels(model: &Model) -> Vec<ChannelRow> {
    let row = |c: &ns_core::Channel| ChannelRow {
        name: c.name.clone(),
        n_bins: c.n_bins,
        observed: model.observed.main.iter().skip(c.first_bin).take(c.n_bins).sum(),
        nominal: c.samples.iter().flat_map(|s| &s.nominal).sum(),
        samples: c.samples.iter().map(|s| s.name.clone()).collect(),
    };
    model.channels.iter().map(row).collect()
}

fn functions(model: &Model) -> Vec<FunctionRow> {
    let row = |function: &ns_core::Function| FunctionRow {
        name: function.name.clone(),
        formula: crate::formula::formula(model, &function.form),
    };
    model.functions.iter().map(row).collect()
}

fn correlations(model: &Model) -> Vec<CorrelationRow> {
    let name = |i: &usize| model.parameters.get(*i).map(|p| p.name.clone());
    let row = |own: &ns_core::Correlations| CorrelationRow {
        parameters: own.parameters().iter().filter_map(name).collect(),
        correlations: own.matrix().chunks(own.parameters().len().max(1)).map(<[f64]>::to_vec).collect(),
    };
    model.correlations().map(row).collect()
}

fn event_channels(model: &Model) -> Vec<EventChannelRow> {
    let row =
        |(channel, table): (&ns_core::EventChannel, &std::sync::Arc<ns_core::EventTable>)| EventChannelRow {
            name: channel.name.clone(),
            observables: channel.observables.iter().map(|observable| observable.name.clone()).collect(),
            n_events: table.len(),
            weight: table.sum_of_weights(),
            extended: channel.extended,
            processes: channel.processes.iter().map(|process| process.name.clone()).collect(),
        };
    model.event_channels.iter().zip(&model.observed.events).map(row).collect()
}

fn samples(model: &Model) -> Vec<SampleRow> {
    let mut rows: BTreeMap<&str, SampleRow> = BTreeMap::new();
    for channel in &model.channels {
        for sample in &channel.samples {
            let row = rows.entry(&sample.name).or_insert_with(|| SampleRow {
                name: sample.name.clone(),
                channels: Vec::new(),
                nominal: 0.0,
                n_modifiers: 0,
            });
            row.channels.push(channel.name.clone());
            row.nominal += sample.nominal.iter().sum::<f64>();
            row.n_modifiers += sample.modifiers.len();
        }
    }
    rows.into_values().collect()
}

fn parameters(model: &Model) -> Vec<ParameterRow> {
    let mut rows: Vec<ParameterRow> = model
        .parameters
        .iter()
        .map(|p| ParameterRow {
            name: p.name.clone(),
            init: p.init,
            bounds: p.bounds,
            fixed: p.fixed,
            constraint: match p.constraint {
                Constraint::None => "none",
                Constraint::Gaussian { .. } => "gaussian",
                Constraint::Poisson { .. } => "poisson",
            },
            width: p.constraint.prefit_sigma(),
            modifiers: Vec::new(),
        })
        .collect();
    for (channel, modifier) in modifiers(model) {
        let kind = modifier.effect.type_name();
        for p in model.acting_parameters(modifier, channel.n_bins) {
            if let Some(row) = rows.get_mut(p).filter(|row| !row.modifiers.contains(&kind)) {
                row.modifiers.push(kind);
            }
        }
    }
    for variation in weights(model) {
        if let Value::Parameter(p) = variation.alpha
            && let Some(row) = rows.get_mut(p)
            && !row.modifiers.contains(&WEIGHTS)
        {
            row.modifiers.push(WEIGHTS);
        }
    }
    rows
}

/// Returns the number of modifiers of each type in all samples.
fn modifier_counts(model: &Model) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for (_, modifier) in modifiers(model) {
        *counts.entry(Effect::type_name(&modifier.effect)).or_insert(0) += 1;
    }
    let effects = weights(model).len();
    if effects > 0 {
        counts.insert(WEIGHTS, effects);
    }
    counts
}

/// The modifier type under which effects on the weights of simulated events are listed.
const WEIGHTS: &str = "weightsys";

/// Returns all effects of nuisance parameters on the weights of simulated events, in all processes of the model.
fn weights(model: &Model) -> Vec<&WeightSys> {
    let mut found = Vec::new();
    for process in model.event_channels.iter().flat_map(|channel| &channel.processes) {
        let mut open = vec![&process.density];
        while let Some(density) = open.pop() {
            if let Density::Template { variations, .. } = density {
                found.extend(variations);
            }
            open.extend(density.parts());
        }
    }
    found
}

/// Returns every modifier of the model, with the channel that contains it.
fn modifiers(model: &Model) -> impl Iterator<Item = (&ns_core::Channel, &ns_core::Modifier)> {
    model
        .channels
        .iter()
        .flat_map(|c| c.samples.iter().flat_map(move |s| s.modifiers.iter().map(move |m| (c, m))))
}
