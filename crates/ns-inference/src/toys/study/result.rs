//! The result of a study of parameters.

use serde::Serialize;

/// What fits of toys say about one parameter.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ParameterStudy {
    /// Its name.
    pub name: String,
    /// The value that the toys were drawn at.
    pub generated: f64,
    /// Mean of the fitted values.
    pub mean: Option<f64>,
    /// Median of the fitted values.
    pub median: Option<f64>,
    /// Standard deviation of the fitted values.
    pub spread: Option<f64>,
    /// Mean less generated value.
    pub bias: Option<f64>,
    /// Statistical error of `bias` and `mean`.
    pub bias_error: Option<f64>,
    /// Mean of `(fitted - generated) / uncertainty`.
    pub pull_mean: Option<f64>,
    /// Its statistical error.
    pub pull_mean_error: Option<f64>,
    /// Standard deviation of the pulls.
    pub pull_width: Option<f64>,
    /// Its statistical error, from the fourth moment.
    pub pull_width_error: Option<f64>,
    /// Fraction of toys whose interval of one uncertainty either way holds the generated value.
    pub coverage: Option<f64>,
    /// Its binomial error.
    pub coverage_error: Option<f64>,
    /// Toys with an uncertainty: those behind pulls and coverage.
    pub n_pulls: u64,
    /// Converged toys without an uncertainty (at a bound, on a kink, flat): left out there.
    pub n_without_uncertainty: u64,
}

/// The result of a study. Serialises to the JSON of `nextstat toys`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FitToysResult {
    /// One entry per parameter studied.
    pub parameters: Vec<ParameterStudy>,
    /// Toys run.
    pub n_toys: u64,
    /// Those that did not converge or failed, and are left out.
    pub n_failed: u64,
    /// Those with a fit that did not reach its certificate.
    pub n_nonconverged: u64,
    /// Those with a fit that could not be made.
    pub n_error: u64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Which part of the run these toys are.
    pub shard: String,
    /// Toys per second of wall time; `None` for toys read from files.
    pub toys_per_s: Option<f64>,
    /// Whether every fit reached its certificate.
    pub converged: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
    /// True if the caller stopped the work; the toys done by then are counted.
    #[serde(skip)]
    pub interrupted: bool,
}
