//! Channels of HistFactory models in a model file.

use super::{Axis, Placed};

/// A channel of a HistFactory model (`histfactory_dist`).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HistFactory {
    pub(crate) axes: Vec<Axis>,
    pub(crate) samples: Vec<Sample>,
    /// Settings of all staterror modifiers of the channel, which ROOT reads.
    pub(crate) stat: StatSettings,
}

/// Settings of all staterror modifiers of a channel.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct StatSettings {
    /// Kind of constraint of the modifiers that name none.
    pub(crate) constraint: Option<Placed<Kind>>,
    /// Bins with a relative uncertainty below this number are without uncertainty.
    pub(crate) threshold: f64,
}

/// Meaning of the values of a shapesys modifier. The dialects of HS3 differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShapeValues {
    /// Uncertainties relative to the contents of the sample, as in ROOT from version 6.30 on.
    Relative,
    /// Uncertainties in events, as in workspaces and pyhs3.
    Absolute,
    /// Expected auxiliary counts, i.e. 1 over the squared relative uncertainty, as in ROOT 6.28.
    Counts,
}

impl ShapeValues {
    /// All meanings.
    pub(crate) const ALL: [Self; 3] = [Self::Relative, Self::Absolute, Self::Counts];

    /// The word of the key `nextstat.vals` in files.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Relative => "relative",
            Self::Absolute => "absolute",
            Self::Counts => "counts",
        }
    }

    /// Returns the relative uncertainty that a value means for a bin with this content; 0 for a bin without
    /// uncertainty.
    pub(crate) fn relative(self, value: f64, content: f64) -> f64 {
        let relative = match self {
            Self::Relative => value,
            Self::Absolute => value / content,
            Self::Counts => 1.0 / value.sqrt(),
        };
        if value > 0.0 && relative.is_finite() { relative } else { 0.0 }
    }
}

impl HistFactory {
    /// Returns the number of bins.
    pub(crate) fn bins(&self) -> usize {
        self.samples.first().map_or(0, |sample| sample.contents.len())
    }
}

/// A sample of a channel.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) contents: Vec<f64>,
    pub(crate) errors: Option<Vec<f64>>,
    pub(crate) modifiers: Vec<Modifier>,
}

/// A modifier of a sample.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Modifier {
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) effect: Effect,
    /// Names of the modifier's parameters: a single name, or one name per bin. The list is empty if the file gives no
    /// names.
    pub(crate) parameters: Vec<String>,
    pub(crate) constraint: WrittenConstraint,
    pub(crate) interpolation: Option<Placed<Interpolation>>,
}

impl Modifier {
    /// Returns the names of the parameters of a modifier with one parameter per bin of a channel. If the file gives
    /// no names, they are the names that ROOT gives. The list is empty for other modifiers.
    pub(crate) fn bin_parameters(&self, channel: &str, bins: usize) -> Vec<String> {
        let prefix = match self.effect {
            Effect::ShapeFactor | Effect::ShapeSys { .. } => format!("gamma_{}", self.name),
            Effect::StatError => {
                format!("gamma_stat_{}", channel.strip_prefix("model_").unwrap_or(channel))
            }
            _ => return Vec::new(),
        };
        if !self.parameters.is_empty() {
            return self.parameters.clone();
        }
        (0..bins).map(|bin| format!("{prefix}_bin_{bin}")).collect()
    }
}

/// Effect of a modifier on the yields of its sample.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect {
    NormFactor,
    NormSys {
        hi: f64,
        lo: f64,
    },
    HistoSys {
        hi: Vec<f64>,
        lo: Vec<f64>,
    },
    /// Uncertainty of each bin, if the file gives uncertainties, and what the file says about their meaning.
    ShapeSys {
        values: Option<Vec<f64>>,
        meaning: Option<ShapeValues>,
    },
    ShapeFactor,
    StatError,
}

/// The constraint of a modifier as written in the file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WrittenConstraint {
    /// The file gives no constraint.
    None,
    /// The kind of the constraint.
    Kind(Placed<Kind>),
    /// The name of the distribution that is the constraint.
    Distribution(Placed<String>),
    /// Names of the distributions that are the constraints, one entry per parameter of the modifier. A parameter
    /// whose entry is `None` has no constraint.
    Distributions(Vec<Option<Placed<String>>>),
}

/// The kinds of constraint of a modifier that have a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Gauss,
    Poisson,
    LogNormal,
    /// No constraint; the parameter is constant unless the file gives it a value or a range.
    Const,
}

impl Kind {
    /// Returns the kind with this word. ROOT and the HS3 standard spell the log-normal differently.
    pub(crate) fn of(word: &str) -> Option<Self> {
        Some(match word {
            "Gauss" => Self::Gauss,
            "Poisson" => Self::Poisson,
            "LogNormal" | "Lognormal" => Self::LogNormal,
            "Const" => Self::Const,
            _ => return None,
        })
    }

    /// Returns the word of the kind.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Gauss => "Gauss",
            Self::Poisson => "Poisson",
            Self::LogNormal => "LogNormal",
            Self::Const => "Const",
        }
    }
}

/// The interpolation of a modifier as written in the file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Interpolation {
    /// Number of the interpolation code in ROOT.
    Number(i64),
    /// Name of the interpolation in the HS3 standard.
    Word(String),
    /// The notation of the next version of HS3. `multiplies` says whether the effect multiplies the yields. `inside`
    /// names the interpolating function for parameter values within one standard deviation, and `outside` the
    /// function for values beyond.
    Structure { multiplies: bool, inside: String, outside: Option<String> },
}
