//! The result of a computation of yields, with the names of channels, samples and parameters.

use serde::{Deserialize, Serialize};

/// Says at which parameter values yields are computed: before a fit, after a fit, or at given values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// The initial parameters. Uncertainties come from the widths of the parameters' constraints.
    Prefit,
    /// The best fit. Uncertainties come from the covariance of the fit.
    Postfit,
    /// Parameter values that the caller gives.
    Given,
}

impl Stage {
    /// Returns the name of the stage in the JSON result.
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct SampleYields {
    /// Name of the sample.
    pub name: String,
    /// Whether the parameter of interest is a normfactor of the sample.
    pub signal: bool,
    /// Expected number of events, one number per bin.
    pub counts: Vec<f64>,
    /// Uncertainty of `counts`, one number per bin; `None` if unknown. The list is empty if uncertainties of samples
    /// were not asked for.
    pub uncertainty: Vec<Option<f64>>,
    /// Density of the sample at each position in `curve_positions` of the channel, for plots. The unit is expected
    /// events per bin. Empty for a binned channel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curve: Vec<f64>,
    /// Sum of `counts` over the bins.
    pub sum: f64,
    /// Uncertainty of `sum`, including the correlations between bins; `None` if unknown or not asked for.
    pub sum_uncertainty: Option<f64>,
}

/// Expected and observed events in one channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct ChannelYields {
    /// Name of the channel.
    pub name: String,
    /// Name of the observable that is divided into bins, for an event channel; `None` for a binned channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub observable: Option<String>,
    /// Title of the horizontal axis of a binned channel; empty if the model has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub axis_title: String,
    /// Edges of the bins of `observable`, one more than the number of bins. Of a binned channel, those of its axis; empty if
    /// the model has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bin_edges: Vec<f64>,
    /// Samples of the channel, in the order of the workspace. The samples of an event channel are its processes.
    pub samples: Vec<SampleYields>,
    /// Expected number of events, summed over the samples, one number per bin.
    pub total: Vec<f64>,
    /// Uncertainty of `total`, one number per bin; `None` if unknown.
    pub uncertainty: Vec<Option<f64>>,
    /// Observed number of events, one number per bin.
    pub data: Vec<f64>,
    /// Whether `data` are not observed, but what a fit of the other channels expects.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blinded: bool,
    /// Standard deviation of `data` for events with weights, one number per bin: the root of the sum of squared
    /// weights. Empty for events without weights.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_uncertainty: Vec<f64>,
    /// Positions at which the curves of the samples are given, for plots; empty for a binned channel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curve_positions: Vec<f64>,
    /// Blinded ranges of the observable, as (lower, upper) pairs. Plots show no data in these ranges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blind: Vec<(f64, f64)>,
    /// Sum of `total` over the bins.
    pub sum: f64,
    /// Uncertainty of `sum`, including the correlations between bins; `None` if unknown.
    pub sum_uncertainty: Option<f64>,
    /// Sum of `data` over the bins.
    pub data_sum: f64,
}

/// Expected and observed events of all channels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct YieldsResult {
    /// Says whether the yields belong to the initial parameters, to the best fit, or to given parameter values.
    pub stage: Stage,
    /// Name of the measurement.
    pub measurement: String,
    /// Names of all parameters, in pyhf's order.
    pub parameter_names: Vec<String>,
    /// Values of all parameters at which the yields were computed, in the order of `parameter_names`.
    pub parameters: Vec<f64>,
    /// Names of the parameters that the fit behind the yields did not contain, because it was a fit of another model.
    /// They have their initial values, the widths of their constraints, and no correlation with other parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_in_fit: Vec<String>,
    /// Names of the parameters of this fit that the model lacks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_in_model: Vec<String>,
    /// The channels, in the model's order.
    pub channels: Vec<ChannelYields>,
    /// Whether the fit for post-fit yields converged; true for yields that are not post-fit.
    pub converged: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
}
