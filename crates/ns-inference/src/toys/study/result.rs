//! The result of a study of parameters.

use serde::Serialize;

/// Bias, pulls and coverage of one parameter in fits of toys.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ParameterStudy {
    /// Name of the parameter.
    pub name: String,
    /// Value of the parameter at which the toys were drawn.
    pub generated: f64,
    /// Mean of the fitted values.
    pub mean: Option<f64>,
    /// Median of the fitted values.
    pub median: Option<f64>,
    /// Standard deviation of the fitted values.
    pub spread: Option<f64>,
    /// Mean of the fitted values minus the generated value.
    pub bias: Option<f64>,
    /// Statistical error of `bias` and `mean`.
    pub bias_error: Option<f64>,
    /// Mean of the pulls `(fitted - generated) / uncertainty`.
    pub pull_mean: Option<f64>,
    /// Statistical error of `pull_mean`.
    pub pull_mean_error: Option<f64>,
    /// Standard deviation of the pulls.
    pub pull_width: Option<f64>,
    /// Statistical error of `pull_width`, from the fourth moment.
    pub pull_width_error: Option<f64>,
    /// Fraction of toys whose fitted value lies within one uncertainty of the generated value.
    pub coverage: Option<f64>,
    /// Binomial error of `coverage`.
    pub coverage_error: Option<f64>,
    /// Number of toys with an uncertainty, from which pulls and coverage are computed.
    pub n_pulls: u64,
    /// Number of converged toys without an uncertainty (at a bound, on a kink, flat).
    pub n_without_uncertainty: u64,
}

/// The result of a study. Serialises to the JSON of `nextstat toys`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FitToysResult {
    /// One entry per parameter studied.
    pub parameters: Vec<ParameterStudy>,
    /// Number of toys run.
    pub n_toys: u64,
    /// Number of toys that did not converge or failed, which are left out.
    pub n_failed: u64,
    /// Number of toys whose fit did not converge.
    pub n_nonconverged: u64,
    /// Number of toys whose fit failed.
    pub n_error: u64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Effort of the search for the global minimum in the fits of toys: "local", "standard" or "thorough".
    pub search: String,
    /// Part of the run to which these toys belong, as in `1/1`.
    pub shard: String,
    /// Number of toys per second of wall time; `None` for toys read from files.
    pub toys_per_s: Option<f64>,
    /// Whether every fit converged.
    pub converged: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
    /// True if the caller stopped the work; only finished toys are counted.
    #[serde(skip)]
    pub interrupted: bool,
}
