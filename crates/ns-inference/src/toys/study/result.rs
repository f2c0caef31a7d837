//! The result of a study of parameters.

use serde::{Deserialize, Serialize};

/// Bias, pulls and coverage of one parameter in the fits of toys. A number that cannot be computed is `None`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct ParameterStudy {
    /// Name of the parameter.
    pub name: String,
    /// True value of the parameter, at which the toys were drawn.
    pub generated: f64,
    /// Mean of the fitted values.
    pub mean: Option<f64>,
    /// Median of the fitted values.
    pub median: Option<f64>,
    /// Standard deviation of the fitted values.
    pub spread: Option<f64>,
    /// Mean of the fitted values minus the true value.
    pub bias: Option<f64>,
    /// Statistical error of `bias` and of `mean`.
    pub bias_error: Option<f64>,
    /// Mean of the pulls. The pull of a toy is `(fitted value - true value) / uncertainty`.
    pub pull_mean: Option<f64>,
    /// Statistical error of `pull_mean`.
    pub pull_mean_error: Option<f64>,
    /// Standard deviation of the pulls.
    pub pull_width: Option<f64>,
    /// Statistical error of `pull_width`, computed from the fourth moment of the pulls.
    pub pull_width_error: Option<f64>,
    /// Fraction of toys whose fitted value differs from the true value by at most one uncertainty.
    pub coverage: Option<f64>,
    /// Binomial error of `coverage`.
    pub coverage_error: Option<f64>,
    /// Number of toys in which the parameter has an uncertainty. Pulls and coverage are computed from these toys.
    pub n_pulls: u64,
    /// Number of converged toys in which the parameter has no uncertainty (at a bound, on a kink, along a flat
    /// direction).
    pub n_without_uncertainty: u64,
}

/// The result of a study. Serialises to the JSON of `nextstat toys`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct FitToysResult {
    /// One entry per studied parameter.
    pub parameters: Vec<ParameterStudy>,
    /// Number of toys that were run.
    pub n_toys: u64,
    /// Number of toys that did not converge or failed. These toys are not used for the numbers in `parameters`.
    pub n_failed: u64,
    /// Number of toys whose fit did not converge.
    pub n_nonconverged: u64,
    /// Number of toys whose fit failed.
    pub n_error: u64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Effort of the search for the global minimum in the fits of toys: "local", "standard" or "thorough".
    pub search: String,
    /// Shard (part of the run) that contains these toys: its number and the number of shards, for example `1/1`.
    pub shard: String,
    /// Number of toys per second of wall time; `None` for toys read from files.
    pub toys_per_s: Option<f64>,
    /// Whether the fits of all toys converged.
    pub converged: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
    /// Whether the caller stopped the work. Only finished toys are counted.
    #[serde(skip)]
    pub interrupted: bool,
}
