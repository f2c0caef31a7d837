//! The contents of a workspace in the result of `inspect` and `validate`.

use std::collections::BTreeMap;

use ns_core::{Constraint, Effect, Model};
use ns_inference::present::significant;
use ns_inference::report::{Part, Table};
use ns_translate::pyhf::Problem;
use serde::Serialize;

/// The result of `inspect` and `validate`. If the workspace has errors, the fields from `measurement` to
/// `modifier_counts` are null.
#[derive(Debug, Serialize)]
pub(crate) struct Contents {
    pub(crate) measurement: Option<String>,
    pub(crate) measurements: Option<Vec<String>>,
    pub(crate) poi: Option<String>,
    pub(crate) channels: Option<Vec<ChannelRow>>,
    /// Channels in which single events are fitted; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) event_channels: Vec<EventChannelRow>,
    pub(crate) samples: Option<Vec<SampleRow>>,
    pub(crate) parameters: Option<Vec<ParameterRow>>,
    pub(crate) modifier_counts: Option<BTreeMap<&'static str, usize>>,
    pub(crate) problems: Vec<ProblemRow>,
    /// Number of errors that `problems` leaves out.
    pub(crate) problems_omitted: usize,
    pub(crate) valid: bool,
    pub(crate) warnings: Vec<String>,
}

/// A channel in the result. `observed` and `nominal` are the observed and the nominal expected number of
/// events, summed over its bins.
#[derive(Debug, Serialize)]
pub(crate) struct ChannelRow {
    pub(crate) name: String,
    pub(crate) n_bins: usize,
    pub(crate) observed: f64,
    pub(crate) nominal: f64,
    pub(crate) samples: Vec<String>,
}

/// An event channel in the result. `n_events` is the number of events in the fit ranges, and `weight` the sum
/// of their weights.
#[derive(Debug, Serialize)]
pub(crate) struct EventChannelRow {
    pub(crate) name: String,
    pub(crate) observables: Vec<String>,
    pub(crate) n_events: usize,
    pub(crate) weight: f64,
    pub(crate) extended: bool,
    pub(crate) processes: Vec<String>,
}

/// A sample in the result. `nominal`, the nominal expected number of events, and `n_modifiers` are sums over
/// the channels that contain the sample.
#[derive(Debug, Serialize)]
pub(crate) struct SampleRow {
    pub(crate) name: String,
    pub(crate) channels: Vec<String>,
    pub(crate) nominal: f64,
    pub(crate) n_modifiers: usize,
}

/// A parameter in the result. `width` is the width of its constraint; null if the parameter has none.
/// `modifiers` are the types of the modifiers that use the parameter.
#[derive(Debug, Serialize)]
pub(crate) struct ParameterRow {
    pub(crate) name: String,
    pub(crate) init: f64,
    pub(crate) bounds: (f64, f64),
    pub(crate) fixed: bool,
    pub(crate) constraint: &'static str,
    pub(crate) width: Option<f64>,
    pub(crate) modifiers: Vec<&'static str>,
}

/// A problem of the workspace, with its JSON path in the workspace and a remedy.
#[derive(Debug, Serialize)]
pub(crate) struct ProblemRow {
    pub(crate) severity: String,
    pub(crate) path: String,
    pub(crate) message: String,
    pub(crate) remedy: String,
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
    /// Returns the contents of a workspace with errors: only its problems, because it has no model.
    pub(crate) fn broken(problems: Vec<ProblemRow>, problems_omitted: usize) -> Self {
        Self {
            measurement: None,
            measurements: None,
            poi: None,
            channels: None,
            event_channels: Vec::new(),
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

    /// Returns the contents of a valid workspace with its model.
    pub(crate) fn of(model: &Model, measurements: Vec<String>, problems: Vec<ProblemRow>) -> Self {
        Self {
            measurement: Some(model.measurement.clone()),
            measurements: Some(measurements),
            poi: model.poi.and_then(|i| model.parameters.get(i)).map(|p| p.name.clone()),
            channels: Some(channels(model)),
            event_channels: event_channels(model),
            samples: Some(samples(model)),
            parameters: Some(parameters(model)),
            modifier_counts: Some(modifier_counts(model)),
            problems,
            problems_omitted: 0,
            valid: true,
            warnings: model.warnings.clone(),
        }
    }

    /// Returns the contents as text: a line about the measurement, the tables of channels, samples and
    /// parameters, and the number of modifiers of each type.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut add = |table: Table| parts.extend([Part::Text(String::new()), Part::Table(table)]);
        if let Some(rows) =
            self.channels.as_ref().filter(|rows| !rows.is_empty() || self.event_channels.is_empty())
        {
            let mut table = Table::new(&["channel", "bins", "observed", "nominal", "samples"], &[1, 2, 3]);
            for row in rows {
                let (observed, nominal) = (significant(row.observed), significant(row.nominal));
                let (bins, samples) = (row.n_bins.to_string(), row.samples.len().to_string());
                table.row([row.name.clone(), bins, observed, nominal, samples]);
            }
            add(table);
        }
        if !self.event_channels.is_empty() {
            let mut table = Table::new(
                &["event channel", "observables", "events", "sum of weights", "processes"],
                &[2, 3],
            );
            for row in &self.event_channels {
                table.row([
                    row.name.clone(),
                    row.observables.join(", "),
                    row.n_events.to_string(),
                    significant(row.weight),
                    row.processes.join(", "),
                ]);
            }
            add(table);
        }
        if let Some(rows) =
            self.samples.as_ref().filter(|rows| !rows.is_empty() || self.event_channels.is_empty())
        {
            let mut table = Table::new(&["sample", "nominal", "channels", "modifiers"], &[1, 2, 3]);
            for row in rows {
                let counts = [row.channels.len(), row.n_modifiers].map(|n| n.to_string());
                table.row([row.name.clone(), significant(row.nominal)].into_iter().chain(counts));
            }
            add(table);
        }
        if let Some(rows) = &self.parameters {
            let mut table = Table::new(&["parameter", "init", "bounds", "constraint", "modifiers", ""], &[1]);
            for row in rows {
                let width = row.width.map_or_else(String::new, |w| format!(" {}", significant(w)));
                table.row([
                    row.name.clone(),
                    significant(row.init),
                    format!("[{}, {}]", significant(row.bounds.0), significant(row.bounds.1)),
                    format!("{}{width}", row.constraint),
                    row.modifiers.join(", "),
                    if row.fixed { "fixed".to_owned() } else { String::new() },
                ]);
            }
            add(table);
        }
        if let Some(name) = &self.measurement {
            let poi = self.poi.as_deref().unwrap_or("none");
            let others = self.measurements.as_ref().map_or(0, Vec::len).saturating_sub(1);
            let others = if others == 0 { String::new() } else { format!(" (and {others} more)") };
            parts.insert(0, Part::Text(format!("measurement {name}{others}, parameter of interest {poi}")));
        }
        if let Some(counts) = &self.modifier_counts {
            let list: Vec<String> = counts.iter().map(|(name, n)| format!("{n} {name}")).collect();
            parts.push(Part::Text(format!("\nmodifiers: {}", list.join(", "))));
        }
        parts
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
        let n = if modifier.effect.per_bin() { channel.n_bins } else { 1 };
        let kind = modifier.effect.type_name();
        for row in rows.iter_mut().skip(modifier.first).take(n) {
            if !row.modifiers.contains(&kind) {
                row.modifiers.push(kind);
            }
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
    counts
}

/// Returns every modifier of the model with its channel.
fn modifiers(model: &Model) -> impl Iterator<Item = (&ns_core::Channel, &ns_core::Modifier)> {
    model
        .channels
        .iter()
        .flat_map(|c| c.samples.iter().flat_map(move |s| s.modifiers.iter().map(move |m| (c, m))))
}
