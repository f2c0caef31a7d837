//! The result of a prediction of yields, with the names of channels, samples and parameters.

use serde::Serialize;

/// Kind of the parameter values at which yields are predicted.
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
    /// Returns the name of the stage in the JSON.
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
    /// Whether the parameter of interest scales the sample, as a normfactor.
    pub signal: bool,
    /// Expected events per bin.
    pub counts: Vec<f64>,
    /// Uncertainty of the expected events per bin; `None` if unknown. Empty if uncertainties of samples were not
    /// asked for.
    pub uncertainty: Vec<Option<f64>>,
    /// Expected events per bin at each position of the channel's `curve_positions`, for pictures; empty for a binned
    /// channel.
    #[serde(skip)]
    pub curve: Vec<f64>,
    /// Sum of `counts` over the bins.
    pub sum: f64,
    /// Uncertainty of `sum`, with the correlations between bins; `None` if unknown or not asked for.
    pub sum_uncertainty: Option<f64>,
}

/// Expected and observed events in one channel.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ChannelYields {
    /// Name of the channel.
    pub name: String,
    /// Observable whose bins the yields refer to, for an event channel; `None` for a binned channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observable: Option<String>,
    /// Edges of the bins of this observable, one more than there are bins; empty for a binned channel.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bin_edges: Vec<f64>,
    /// Samples of the channel, in the order of the workspace. For an event channel, the processes.
    pub samples: Vec<SampleYields>,
    /// Expected events per bin, summed over the samples.
    pub total: Vec<f64>,
    /// Uncertainty of `total` per bin; `None` if unknown.
    pub uncertainty: Vec<Option<f64>>,
    /// Observed events per bin.
    pub data: Vec<f64>,
    /// Standard deviation of `data` for events with weights: the root of the sum of squared weights. Empty for counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data_uncertainty: Vec<f64>,
    /// Positions of the curves of the samples, for pictures; empty for a binned channel.
    #[serde(skip)]
    pub curve_positions: Vec<f64>,
    /// Blinded ranges of the observable, in which pictures show no data.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blind: Vec<(f64, f64)>,
    /// Sum of `total` over the bins.
    pub sum: f64,
    /// Uncertainty of `sum`, with the correlations between bins; `None` if unknown.
    pub sum_uncertainty: Option<f64>,
    /// Sum of `data` over the bins.
    pub data_sum: f64,
}

/// Expected and observed events of all channels. Serialises to plain JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct YieldsResult {
    /// Kind of the parameter values: initial, best fit or given.
    pub stage: Stage,
    /// Name of the measurement.
    pub measurement: String,
    /// Names of all parameters, in pyhf's order.
    pub parameter_names: Vec<String>,
    /// Values of all parameters at which the yields were computed.
    pub parameters: Vec<f64>,
    /// The channels, in the model's order.
    pub channels: Vec<ChannelYields>,
    /// Whether the fit behind post-fit yields converged; true for all other yields.
    pub converged: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
}
