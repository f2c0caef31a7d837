//! A summary of the contents of a workspace, which `nextstat inspect` prints.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;

use super::declare::{SetKind, declare};
use super::document::ModifierType;
use super::problem::Report;
use super::workspace::Workspace;

/// A summary of the contents of a workspace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Channels sorted by name.
    pub channels: Vec<ChannelSummary>,
    /// Names of all samples, sorted.
    pub samples: Vec<String>,
    /// Parameter sets in the model's order.
    pub parameters: Vec<ParameterSummary>,
    /// Number of modifiers of each type. A modifier counts once for each sample on which it acts.
    pub modifier_counts: BTreeMap<&'static str, usize>,
    /// Measurements in the order of the file.
    pub measurements: Vec<MeasurementSummary>,
}

/// A summary of one channel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChannelSummary {
    /// Name of the channel.
    pub name: String,
    /// Number of bins.
    pub n_bins: usize,
    /// Names of the channel's samples, in the order of the file.
    pub samples: Vec<String>,
    /// Number of modifiers on the channel's samples.
    pub n_modifiers: usize,
}

/// A summary of one parameter set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ParameterSummary {
    /// Name of the parameter set.
    pub name: String,
    /// Number of scalar parameters in the set.
    pub n: usize,
    /// Type of the constraint: `unconstrained`, `gaussian` or `poisson`.
    pub constraint: &'static str,
    /// Types of the modifiers that use the set.
    pub types: Vec<&'static str>,
}

/// A summary of one measurement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasurementSummary {
    /// Name of the measurement.
    pub name: String,
    /// Name of the first parameter of interest; empty if there is none.
    pub poi: String,
    /// Names of all parameters of interest, if there are several; otherwise absent from the JSON.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pois: Vec<String>,
    /// Names of the parameters for which the measurement has settings.
    pub configured: Vec<String>,
}

impl Workspace {
    /// Returns a summary of the contents of the workspace. [`Workspace::validate`] lists its problems.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let document = &self.document;
        let mut samples = BTreeSet::new();
        let mut modifier_counts = BTreeMap::new();
        let mut types: HashMap<&str, BTreeSet<ModifierType>> = HashMap::new();
        let mut channels = Vec::with_capacity(document.channels.len());
        for channel in &document.channels {
            let mut n_modifiers = 0;
            for sample in &channel.samples {
                samples.insert(sample.name.clone());
                n_modifiers += sample.modifiers.len();
                for modifier in &sample.modifiers {
                    let kind = modifier.effect.kind();
                    *modifier_counts.entry(kind.name()).or_insert(0) += 1;
                    types.entry(&modifier.name).or_default().insert(kind);
                }
            }
            channels.push(ChannelSummary {
                name: channel.name.clone(),
                n_bins: channel.n_bins(),
                samples: channel.samples.iter().map(|s| s.name.clone()).collect(),
                n_modifiers,
            });
        }
        channels.sort_by(|a, b| a.name.cmp(&b.name));
        let parameters = declare(document, &mut Report::default())
            .into_iter()
            .map(|set| ParameterSummary {
                n: set.kind.n(),
                constraint: match set.kind {
                    SetKind::Alpha | SetKind::Lumi | SetKind::StatError { .. } => "gaussian",
                    SetKind::ShapeSys { .. } => "poisson",
                    SetKind::NormFactor | SetKind::ShapeFactor { .. } | SetKind::OfFunctions => {
                        "unconstrained"
                    }
                },
                types: types
                    .get(set.name.as_str())
                    .map_or_else(Vec::new, |types| types.iter().map(|kind| kind.name()).collect()),
                name: set.name,
            })
            .collect();
        let measurements = document
            .measurements
            .iter()
            .map(|m| MeasurementSummary {
                name: m.name.clone(),
                poi: m.config.poi.names().first().cloned().unwrap_or_default(),
                pois: Some(m.config.poi.names()).filter(|names| names.len() > 1).unwrap_or_default().to_vec(),
                configured: m.config.parameters.iter().map(|p| p.name.clone()).collect(),
            })
            .collect();
        Summary {
            channels,
            samples: samples.into_iter().collect(),
            parameters,
            modifier_counts,
            measurements,
        }
    }
}
