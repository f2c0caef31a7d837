//! The result of a test of compatibility.

use serde::{Deserialize, Serialize};

/// A value of the parameter with its uncertainties.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Estimate {
    /// Best-fit value.
    pub value: f64,
    /// Uncertainty from the covariance; `None` at a bound or on a kink.
    pub uncertainty: Option<f64>,
    /// Value below the best fit at which `-2 ln L` is 1 above its minimum; `None` if there is none within the bounds.
    pub lower: Option<f64>,
    /// The same above the best fit.
    pub upper: Option<f64>,
}

/// The values of one channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct ChannelEstimate {
    /// Name of the channel.
    pub channel: String,
    /// Value of the parameter in this channel, in the fit in which every channel has its own.
    pub own: Estimate,
    /// Common value of the other channels, in a fit in which this channel alone has its own. It then constrains only
    /// nuisance parameters. `None` if not asked for.
    pub others: Option<Estimate>,
}

/// Numbers of toys of a test of compatibility.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct CompatibilityToys {
    /// Number of toys that were run.
    pub n_toys: u64,
    /// Number of toys that are left out because a fit did not converge or failed.
    pub n_left_out: u64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Number of toys per second of wall time.
    pub toys_per_s: Option<f64>,
}

/// The result of a test of compatibility. Serialises to the JSON of `nextstat compatibility`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct CompatibilityResult {
    /// Name of the parameter of interest.
    pub param: String,
    /// Value that all channels have in common.
    pub common: Estimate,
    /// The values of each channel that depends on the parameter, in the order of the model.
    pub channels: Vec<ChannelEstimate>,
    /// The statistic: `-2 ln L` of the fit with a common value minus that of the fit with a value per channel.
    pub q: f64,
    /// Degrees of freedom of the chi2 law: the number of channels minus 1.
    pub n_dof: usize,
    /// Probability of a statistic of at least `q` if all channels have the same value, by the chi2 law.
    pub p_value: Option<f64>,
    /// Fraction of the toys with a statistic of at least `q`; `None` without toys.
    pub p_value_toys: Option<f64>,
    /// Binomial error of `p_value_toys`. If no toy has a statistic of at least `q`, it is the upper end of the
    /// Clopper-Pearson interval of one standard deviation.
    pub p_value_toys_error: Option<f64>,
    /// The toys; `None` without toys.
    pub toys: Option<CompatibilityToys>,
    /// Whether all fits of the data converged.
    pub converged: bool,
    /// Whether the caller stopped the work. Only finished toys are counted.
    pub interrupted: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
}
