//! What a binned model is made of, before it becomes a workspace.

use ns_unbinned::expression::Expression;
use serde::{Deserialize, Serialize};

/// A binned model: a measurement, and channels with templates of their samples.
///
/// It is plain data. Configuration files and the Python builder both make one, and [`super::build`] turns it into a workspace.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// The measurement: parameter of interest and settings of parameters.
    pub measurement: Measurement,
    /// The channels, in the order of the workspace.
    pub channels: Vec<Channel>,
    /// Which small effects are left out.
    #[serde(default)]
    pub pruning: Pruning,
    /// Constraint of these parameters.
    #[serde(default)]
    pub mc_constraint: McConstraint,
    /// Relative uncertainty of the sum of all samples up to which a bin gets no parameter for the statistics of its
    /// simulation. 0 keeps all bins.
    #[serde(default)]
    pub mc_threshold: f64,
}

/// The constraint of parameters for the statistics of simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McConstraint {
    /// A normal distribution (`staterror` of pyhf).
    #[default]
    Gaussian,
    /// A Poisson distribution, HistFactory's other choice. Workspaces of pyhf cannot say this, so the result is an HS3 model.
    Poisson,
}

/// A measurement.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// Name of the measurement.
    pub name: String,
    /// Name of the parameter of interest; empty if there is none.
    #[serde(default)]
    pub poi: String,
    /// Settings of parameters. Parameters without settings have the usual start values and bounds.
    #[serde(default)]
    pub parameters: Vec<Parameter>,
}

/// Settings of a parameter.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Name of the parameter.
    pub name: String,
    /// Start value.
    #[serde(default)]
    pub init: Option<f64>,
    /// Lowest and highest value.
    #[serde(default)]
    pub bounds: Option<[f64; 2]>,
    /// Whether the parameter is constant.
    #[serde(default)]
    pub fixed: bool,
}

/// A channel: a histogram of data, and templates with the same bins.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// Name of the channel.
    pub name: String,
    /// Title of the horizontal axis, with the unit; `None` if it is not known. Like `edges`, it is not in the workspace.
    #[serde(default)]
    pub title: Option<String>,
    /// Edges of the bins, one more than there are bins; `None` if they are not known.
    #[serde(default)]
    pub edges: Option<Vec<f64>>,
    /// Observed events of each bin. `None` stands for the sum of all samples.
    #[serde(default)]
    pub data: Option<Vec<f64>>,
    /// The samples.
    pub samples: Vec<Sample>,
}

/// A sample of a channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// Name of the sample.
    pub name: String,
    /// Expected events.
    pub template: Template,
    /// Whether the statistics of the simulation are uncertain (`staterror`). This needs variances of the template.
    #[serde(default = "yes")]
    pub mc_statistics: bool,
    /// Names of free factors on the whole sample.
    #[serde(default)]
    pub norm_factors: Vec<String>,
    /// Factors that are functions of parameters.
    #[serde(default)]
    pub functions: Vec<Formula>,
    /// Names of free factors with a parameter for each bin.
    #[serde(default)]
    pub shape_factors: Vec<String>,
    /// Systematic uncertainties.
    #[serde(default)]
    pub systematics: Vec<Systematic>,
}

impl Formula {
    /// The names in the expression; none if it has a mistake.
    pub(super) fn names(&self) -> Vec<String> {
        Expression::parse(&self.expression).map(|parsed| parsed.names().to_vec()).unwrap_or_default()
    }
}

/// A factor that is a function of parameters. One name is one expression in all samples.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Formula {
    /// Name of the factor.
    pub name: String,
    /// Expression of parameters and of other factors with an expression. The measurement gives start values and bounds of
    /// parameters that no other factor has.
    pub expression: String,
}

const fn yes() -> bool {
    true
}

/// Contents of the bins of a channel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// Expected events of each bin.
    pub values: Vec<f64>,
    /// Variance of each bin, the sum of squared weights; `None` if unknown.
    #[serde(default)]
    pub variances: Option<Vec<f64>>,
}

impl Template {
    /// The sum over all bins.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.values.iter().sum()
    }
}

/// A systematic uncertainty of a sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Systematic {
    /// Name, for tables and messages.
    pub name: String,
    /// Name of the parameter, if it is not that of the systematic. Systematics with the same parameter are correlated.
    #[serde(default)]
    pub parameter: Option<String>,
    /// What the systematic changes.
    pub effect: Effect,
    /// Name of a sample of the channel. What is left out of this systematic there is left out here too, and nothing else.
    #[serde(default)]
    pub pruned_as: Option<String>,
}

impl Systematic {
    /// The name of the parameter.
    #[must_use]
    pub fn parameter(&self) -> &str {
        self.parameter.as_deref().unwrap_or(&self.name)
    }
}

/// The effect of a systematic uncertainty on a sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Effect {
    /// A factor on all bins.
    Normalisation {
        /// Relative change upwards: 0.05 for 5 %.
        up: f64,
        /// Relative change downwards: -0.05 for 5 %.
        down: f64,
    },
    /// Templates for a change by one standard deviation in both directions.
    Templates {
        /// Events of each bin after the change upwards.
        up: Vec<f64>,
        /// Events of each bin after the change downwards. `None` if it follows from `up`.
        #[serde(default)]
        down: Option<Vec<f64>>,
        /// How the two templates are made symmetric.
        #[serde(default)]
        symmetrise: Symmetrise,
        /// How the templates are smoothed: before they are made symmetric if one follows from the other, and after it if
        /// both change.
        #[serde(default)]
        smooth: Option<Smoothing>,
        /// Which part of the effect is used.
        #[serde(default)]
        parts: Parts,
    },
    /// An independent uncertainty of each bin (`shapesys`).
    Uncorrelated {
        /// Uncertainty of each bin, in events.
        sigmas: Vec<f64>,
    },
}

/// How templates of a systematic are made symmetric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Symmetrise {
    /// Both templates stay as they are. Without a template downwards, the same as `OneSided`.
    #[default]
    None,
    /// `down` follows from `up`: first the normalisation is reflected at 1, then the shape of `up`, scaled to the nominal
    /// sum, at the nominal template. This is what cabinetry does.
    OneSided,
    /// `down` follows from `up`, reflected at the nominal template bin by bin. This is what TRExFitter does.
    Mirror,
    /// Both directions get half the difference of the two templates, bin by bin.
    TwoSided,
    /// The change upwards is the mean size of the two changes, and positive, bin by bin.
    AbsMean,
    /// Both directions get the larger of the two changes, with its sign for the change upwards, bin by bin.
    Maximum,
}

/// How the ratio of a template to the nominal one is smoothed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Smoothing {
    /// Friedman's running medians 353QH, twice.
    #[serde(rename = "353QH, twice")]
    Medians353Qh,
    /// Bins are merged until the ratio has no more than this number of changes of slope, as in TRExFitter.
    #[serde(rename = "merge")]
    Merge(usize),
}

/// Which part of the effect of two templates is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parts {
    /// Normalisation (`normsys`) and shape (`histosys` with the nominal sum), of the same parameter.
    #[default]
    Both,
    /// Normalisation only.
    Normalisation,
    /// Shape only.
    Shape,
    /// The templates as they are, as one `histosys`.
    Together,
}

/// Thresholds by which effects are left out. `None` keeps all.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pruning {
    /// Largest relative change of the sum of a sample, up and down, that is left out.
    #[serde(default)]
    pub normalisation: Option<f64>,
    /// Largest relative change of any bin, once the change of the sum is divided out, that is left out.
    #[serde(default)]
    pub shape: Option<f64>,
    /// Relative change of a sum or of a bin above which an effect is left out as a mistake.
    #[serde(default)]
    pub large: Option<f64>,
}
