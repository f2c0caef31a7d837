//! The result of simplifying a likelihood.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One bin of a simplified likelihood. The background is `a + b theta + c theta^2` with a normal parameter `theta`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct SimplifiedBin {
    /// Name of the channel.
    pub channel: String,
    /// Index of the bin within the channel.
    pub bin: usize,
    /// Observed count.
    pub observed: f64,
    /// Signal at a value of 1 of the parameter of interest.
    pub signal: f64,
    /// Mean background.
    pub mean: f64,
    /// Standard deviation of the background.
    pub sigma: f64,
    /// Third central moment of the background, in units of `sigma` to the third power.
    pub skewness: f64,
    /// Error of `skewness` from the number of draws.
    pub skewness_error: f64,
    /// Constant coefficient.
    pub a: f64,
    /// Coefficient of `theta`.
    pub b: f64,
    /// Coefficient of `theta^2`; 0 without third moments.
    pub c: f64,
}

/// A number of the full model and of the simplified one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = SimplifyComparison))]
#[allow(clippy::exhaustive_structs)]
pub struct Compared {
    /// What is compared, in words.
    pub quantity: String,
    /// The number of the full model.
    pub full: Option<f64>,
    /// The number of the simplified model.
    pub simplified: Option<f64>,
}

/// The result of simplifying a likelihood. Serialises to the JSON of `nextstat simplify`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct SimplifyResult {
    /// Name of the parameter of interest.
    pub param: String,
    /// All bins of the simplified likelihood.
    pub bins: Vec<SimplifiedBin>,
    /// Correlation matrix of the normal parameters of the bins.
    pub correlation: Vec<Vec<f64>>,
    /// Number of independent normal parameters of the workspace.
    pub n_directions: usize,
    /// Largest change of an element of the correlation matrix that made it positive.
    pub correlation_change: f64,
    /// Number of draws of the nuisance parameters.
    pub n_draws: u64,
    /// Largest error of a variance, relative to the variance, from the number of draws.
    pub variance_error: f64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Comparison with the full model; empty if none was made.
    pub validation: Vec<Compared>,
    /// Whether the moments are known well enough.
    pub converged: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
    /// The simplified likelihood as a workspace. It is not written; the command has a file for it.
    #[serde(default, skip_serializing)]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub workspace: Value,
}
