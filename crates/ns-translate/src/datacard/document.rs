//! The contents of a card after reading: channels, processes, systematic uncertainties.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use ns_unbinned::expression::Expression;

use super::lines::Place;

/// A card, or several cards put together.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Document {
    /// Channels, in the order of the card.
    pub(super) channels: Vec<Channel>,
    /// Processes of channels, in the order of the columns.
    pub(super) columns: Vec<Column>,
    /// Lines of systematic uncertainties, in the order of the card.
    pub(super) systematics: Vec<Systematic>,
    pub(super) rate_params: Vec<RateParam>,
    /// Parameters declared by `flatParam`.
    pub(super) flat: Vec<(String, Place)>,
    pub(super) groups: Vec<Group>,
    /// Names of parameters that `nuisance edit freeze` fixes.
    pub(super) frozen: Vec<String>,
}

/// One region: a histogram or a single count.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Channel {
    pub(super) name: String,
    pub(super) place: Place,
    /// Observed count; -1 stands for the integral of `data_obs`.
    pub(super) observation: Option<f64>,
    /// The line of the observation.
    pub(super) observed_at: Place,
    /// Where the histograms are. Cards that were put together have different folders and names.
    pub(super) origin: Arc<Origin>,
    /// Name of the channel in the card that it came from, which `$CHANNEL` stands for.
    pub(super) written: String,
    pub(super) mc_stats: Option<McStatsLine>,
}

/// The part of a card that says where its histograms are.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Origin {
    /// Folder to which the names of files are relative.
    pub(super) folder: PathBuf,
    pub(super) shapes: Vec<ShapeRule>,
}

/// A `shapes` line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShapeRule {
    pub(super) process: String,
    pub(super) channel: String,
    /// Name of the file; `None` for `FAKE`.
    pub(super) file: Option<String>,
    /// Name of the nominal histogram.
    pub(super) nominal: String,
    /// Name of the histograms of systematic uncertainties.
    pub(super) systematic: Option<String>,
    pub(super) place: Place,
}

/// An `autoMCStats` line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct McStatsLine {
    pub(super) place: Place,
    /// Number of effective events below which Combine uses Poisson terms; below 0, there are no terms at all.
    pub(super) threshold: f64,
    /// Whether the signal's uncertainties count too.
    pub(super) include_signal: bool,
    /// Whether morphed templates keep their own integrals (histogram mode 2).
    pub(super) keep_integrals: bool,
}

/// One process of one channel.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Column {
    /// Index of the channel.
    pub(super) channel: usize,
    pub(super) process: String,
    pub(super) signal: bool,
    /// Expected yield; -1 stands for the integral of the template.
    pub(super) rate: f64,
    /// Line of the rate.
    pub(super) place: Place,
}

/// The size of an effect in a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Size {
    One(f64),
    /// Factors at -1 and +1 sigma.
    Two(f64, f64),
}

/// The type of a systematic uncertainty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// `lnN`, or `lnU` if `uniform`.
    LogNormal { uniform: bool },
    /// `gmN` with the number of events in the sideband.
    Gamma { count: f64 },
    /// `shape`; with `optional`, `shape?`; with `uniform`, `shapeU`; with `log`, `shapeN`, whose interpolation is that of
    /// the logarithms of the templates.
    Shape { optional: bool, uniform: bool, log: bool },
    /// `param`: a Gaussian constraint.
    Param { mean: f64, sigma: f64, range: Option<(f64, f64)> },
}

impl Kind {
    /// Returns the type of shape uncertainty that a word of the card names.
    pub(super) fn shape(word: &str) -> Option<Self> {
        let (optional, uniform, log) = match word {
            "shape" => (false, false, false),
            "shape?" => (true, false, false),
            "shapeU" => (false, true, false),
            "shapeN" | "shapeN2" => (false, false, true),
            "shapeN?" | "shapeN2?" => (true, false, true),
            "shapeNU" => (false, true, true),
            _ => return None,
        };
        Some(Self::Shape { optional, uniform, log })
    }

    /// Returns the word of the card.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::LogNormal { uniform: false } => "lnN",
            Self::LogNormal { uniform: true } => "lnU",
            Self::Gamma { .. } => "gmN",
            Self::Shape { optional: true, log: false, .. } => "shape?",
            Self::Shape { uniform: true, log: false, .. } => "shapeU",
            Self::Shape { optional: true, log: true, .. } => "shapeN?",
            Self::Shape { uniform: true, log: true, .. } => "shapeNU",
            Self::Shape { log: true, .. } => "shapeN",
            Self::Shape { .. } => "shape",
            Self::Param { .. } => "param",
        }
    }
}

/// A line of a systematic uncertainty.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Systematic {
    pub(super) name: String,
    /// Whether fits keep the parameter fixed (`[nofloat]`).
    pub(super) no_float: bool,
    pub(super) kind: Kind,
    /// Effects by column, without those that do nothing.
    pub(super) sizes: BTreeMap<usize, Size>,
    /// Names that the histograms have by column, where a `nuisance edit rename` changed the name of the parameter.
    pub(super) written: HashMap<usize, String>,
    pub(super) place: Place,
}

/// A `rateParam` line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RateParam {
    pub(super) name: String,
    pub(super) columns: Vec<usize>,
    pub(super) value: f64,
    pub(super) range: Option<(f64, f64)>,
    /// The formula of a factor that is a function of parameters. It has no value and no range.
    pub(super) formula: Option<RateFormula>,
    pub(super) place: Place,
}

/// The formula of a `rateParam` line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RateFormula {
    /// The expression. Its names are those in `arguments`.
    pub(super) expression: Expression,
    /// For each name of the expression, the parameter or the factor that it stands for.
    pub(super) arguments: Vec<String>,
    /// The formula and its arguments, as the card has them.
    pub(super) text: String,
}

/// A `group` line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) members: Vec<String>,
    pub(super) place: Place,
}

impl Document {
    /// Returns the names of all parameters that lines declare.
    pub(super) fn parameter_names(&self) -> HashSet<&str> {
        let systematics = self.systematics.iter().map(|s| s.name.as_str());
        let rates = self.rate_params.iter().map(|p| p.name.as_str());
        systematics.chain(rates).chain(self.flat.iter().map(|(name, _)| name.as_str())).collect()
    }

    /// Returns the name of the channel of a column.
    pub(super) fn channel_of(&self, column: &Column) -> &str {
        self.channels.get(column.channel).map_or("", |channel| channel.name.as_str())
    }
}
