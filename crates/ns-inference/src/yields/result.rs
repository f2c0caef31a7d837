//! The named result of a prediction of yields.

use serde::Serialize;

/// Where the yields are predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// At the initial parameters, with the widths of their constraints.
    Prefit,
    /// At the best fit, with its covariance.
    Postfit,
    /// At given parameters.
    Given,
}

impl Stage {
    /// As in the JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Prefit => "prefit",
            Self::Postfit => "postfit",
            Self::Given => "given",
        }
    }
}

/// Expected events of one sample in a channel.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SampleYields {
    /// Name of the sample.
    pub name: String,
    /// Whether the parameter of interest scales it (as a normfactor).
    pub signal: bool,
    /// Expected events per bin.
    pub counts: Vec<f64>,
    /// Uncertainty of the sample per bin; `None` if unknown. Empty where it was not asked for.
    pub uncertainty: Vec<Option<f64>>,
    /// Sum of `counts` over the bins.
    pub sum: f64,
    /// Its uncertainty, correlations between bins included; `None` if unknown or not asked for.
    pub sum_uncertainty: Option<f64>,
}

/// What is expected and seen in one channel.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ChannelYields {
    /// Name of the channel.
    pub name: String,
    /// Its samples, in the order of the workspace.
    pub samples: Vec<SampleYields>,
    /// Sum of the samples per bin.
    pub total: Vec<f64>,
    /// Uncertainty of that sum per bin; `None` if unknown.
    pub uncertainty: Vec<Option<f64>>,
    /// Events seen per bin.
    pub data: Vec<f64>,
    /// Sum of `total` over the bins.
    pub sum: f64,
    /// Its uncertainty, correlations between bins included; `None` if unknown.
    pub sum_uncertainty: Option<f64>,
    /// Sum of `data` over the bins.
    pub data_sum: f64,
}

/// Expected and observed events of all channels. Serialises to plain JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct YieldsResult {
    /// Before or after the fit, or at given parameters.
    pub stage: Stage,
    /// Name of the measurement.
    pub measurement: String,
    /// Names of all parameters, in pyhf's order.
    pub parameter_names: Vec<String>,
    /// The point of the prediction.
    pub parameters: Vec<f64>,
    /// The channels, in the model's order.
    pub channels: Vec<ChannelYields>,
    /// Whether the fit behind a post-fit prediction converged; true before the fit.
    pub converged: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
}
