//! The contents of a workspace file: one Rust type for each kind of object in it.
//!
//! The field `at` of an element is its index in the array of the file. With it, messages about a sorted or
//! partly read document still give the right JSON pointer.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::interest::Interest;

/// The contents of a workspace file.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Document {
    pub(crate) channels: Vec<Channel>,
    pub(crate) observations: Vec<Observation>,
    pub(crate) measurements: Vec<Measurement>,
    pub(crate) known: ReadParts,
}

/// Records which parts of a document were read in full. A file with structural errors is read as far as
/// possible. Rules about missing items are then applied only to parts that were read in full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadParts {
    pub(crate) channels: bool,
    pub(crate) modifiers: bool,
    pub(crate) observations: bool,
}

impl Default for ReadParts {
    fn default() -> Self {
        Self { channels: true, modifiers: true, observations: true }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Channel {
    #[serde(skip)]
    pub(crate) at: usize,
    pub(crate) name: String,
    #[serde(deserialize_with = "super::parse::non_empty_objects")]
    pub(crate) samples: Vec<Sample>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sample {
    #[serde(skip)]
    pub(crate) at: usize,
    pub(crate) name: String,
    #[serde(deserialize_with = "super::parse::non_empty")]
    pub(crate) data: Vec<f64>,
    #[serde(deserialize_with = "super::parse::objects")]
    pub(crate) modifiers: Vec<Modifier>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Modifier {
    pub(crate) at: usize,
    pub(crate) name: String,
    pub(crate) effect: Effect,
}

/// The type of a modifier and its data. In a partly read document, a number that could not be read is NaN,
/// and an array that could not be read is empty. The checks of the contents skip both.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect {
    HistoSys { lo: Vec<f64>, hi: Vec<f64> },
    Lumi,
    NormFactor,
    NormSys { lo: f64, hi: f64 },
    ShapeFactor,
    ShapeSys(Vec<f64>),
    StatError(Vec<f64>),
    Function(Formulas),
}

/// The expressions of a modifier of type `function`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) enum Formulas {
    /// One expression for all bins.
    #[serde(rename = "expression")]
    Whole(String),
    /// One expression per bin.
    #[serde(rename = "expressions")]
    Bins(Vec<String>),
}

impl Formulas {
    /// Returns the expressions, each with its place below the modifier.
    pub(crate) fn texts(&self) -> Vec<(String, &str)> {
        match self {
            Self::Whole(text) => vec![("/data/expression".to_owned(), text)],
            Self::Bins(texts) => {
                let place = |(bin, text)| (format!("/data/expressions/{bin}"), String::as_str(text));
                texts.iter().enumerate().map(place).collect()
            }
        }
    }

    /// Applies a change to every expression.
    pub(crate) fn change(&mut self, change: impl Fn(&mut String)) {
        match self {
            Self::Whole(text) => change(text),
            Self::Bins(texts) => texts.iter_mut().for_each(change),
        }
    }
}

/// The modifier types: the seven of pyhf in the order in which pyhf registers their parameters, and `function`, which is an
/// extension of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ModifierType {
    HistoSys,
    Lumi,
    NormFactor,
    NormSys,
    ShapeFactor,
    ShapeSys,
    StatError,
    Function,
}

impl ModifierType {
    pub(crate) const ALL: [Self; 8] = [
        Self::HistoSys,
        Self::Lumi,
        Self::NormFactor,
        Self::NormSys,
        Self::ShapeFactor,
        Self::ShapeSys,
        Self::StatError,
        Self::Function,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::HistoSys => "histosys",
            Self::Lumi => "lumi",
            Self::NormFactor => "normfactor",
            Self::NormSys => "normsys",
            Self::ShapeFactor => "shapefactor",
            Self::ShapeSys => "shapesys",
            Self::StatError => "staterror",
            Self::Function => "function",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name() == name)
    }
}

impl fmt::Display for ModifierType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Effect {
    pub(crate) fn kind(&self) -> ModifierType {
        match self {
            Self::HistoSys { .. } => ModifierType::HistoSys,
            Self::Lumi => ModifierType::Lumi,
            Self::NormFactor => ModifierType::NormFactor,
            Self::NormSys { .. } => ModifierType::NormSys,
            Self::ShapeFactor => ModifierType::ShapeFactor,
            Self::ShapeSys(_) => ModifierType::ShapeSys,
            Self::StatError(_) => ModifierType::StatError,
            Self::Function(_) => ModifierType::Function,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Observation {
    #[serde(skip)]
    pub(crate) at: usize,
    pub(crate) name: String,
    #[serde(deserialize_with = "super::parse::non_empty")]
    pub(crate) data: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Measurement {
    #[serde(skip)]
    pub(crate) at: usize,
    pub(crate) name: String,
    #[serde(deserialize_with = "super::parse::object")]
    pub(crate) config: Config,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// Names of the parameters of interest; none in a background-only workspace.
    pub(crate) poi: Interest,
    /// Whether the parameters of interest could not be read.
    #[serde(skip)]
    pub(crate) poi_broken: bool,
    #[serde(deserialize_with = "super::parse::objects")]
    pub(crate) parameters: Vec<Setting>,
}

/// The settings of one parameter in a measurement.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Setting {
    #[serde(skip)]
    pub(crate) at: usize,
    /// Whether part of the settings could not be read.
    #[serde(skip)]
    pub(crate) broken: bool,
    pub(crate) name: String,
    #[serde(
        default,
        deserialize_with = "super::parse::some_non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) inits: Option<Vec<f64>>,
    #[serde(
        default,
        deserialize_with = "super::parse::some_non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) bounds: Option<Vec<(f64, f64)>>,
    #[serde(
        default,
        deserialize_with = "super::parse::some_non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) auxdata: Option<Vec<f64>>,
    #[serde(
        default,
        deserialize_with = "super::parse::some_non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) factors: Option<Vec<f64>>,
    #[serde(
        default,
        deserialize_with = "super::parse::some_non_empty",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) sigmas: Option<Vec<f64>>,
    #[serde(default, deserialize_with = "super::parse::some", skip_serializing_if = "Option::is_none")]
    pub(crate) fixed: Option<bool>,
}

impl Document {
    /// Sets the field `at` of every element to its current index in its array.
    pub(crate) fn number(&mut self) {
        for (c, channel) in self.channels.iter_mut().enumerate() {
            channel.at = c;
            for (s, sample) in channel.samples.iter_mut().enumerate() {
                sample.at = s;
                for (m, modifier) in sample.modifiers.iter_mut().enumerate() {
                    modifier.at = m;
                }
            }
        }
        for (o, observation) in self.observations.iter_mut().enumerate() {
            observation.at = o;
        }
        for (m, measurement) in self.measurements.iter_mut().enumerate() {
            measurement.at = m;
            for (p, setting) in measurement.config.parameters.iter_mut().enumerate() {
                setting.at = p;
            }
        }
    }
}

impl Channel {
    pub(crate) fn path(&self) -> String {
        format!("/channels/{}", self.at)
    }

    /// Returns the number of bins, which pyhf takes from the first sample; 0 if that sample could not be
    /// read.
    pub(crate) fn n_bins(&self) -> usize {
        self.samples.first().map_or(0, |s| s.data.len())
    }
}

impl Sample {
    pub(crate) fn path(&self, channel: &Channel) -> String {
        format!("{}/samples/{}", channel.path(), self.at)
    }
}

impl Modifier {
    pub(crate) fn path(&self, channel: &Channel, sample: &Sample) -> String {
        format!("{}/modifiers/{}", sample.path(channel), self.at)
    }
}

impl Setting {
    pub(crate) fn path(&self, measurement: &Measurement) -> String {
        format!("/measurements/{}/config/parameters/{}", measurement.at, self.at)
    }
}
