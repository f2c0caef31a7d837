//! The result of an injection test.

use serde::{Deserialize, Serialize};

use crate::toys::ParameterStudy;

/// The straight line `mean = intercept + slope * injected` through the means of the fitted values, weighted by their errors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Line {
    /// Slope; 1 without bias.
    pub slope: f64,
    /// Error of `slope`.
    pub slope_error: f64,
    /// Mean fitted value at an injected value of 0; 0 without bias.
    pub intercept: f64,
    /// Error of `intercept`.
    pub intercept_error: f64,
    /// Correlation of the errors of `slope` and `intercept`.
    pub correlation: f64,
    /// Sum of the squared distances of the means from the line, in units of their errors.
    pub chi2: f64,
    /// Degrees of freedom: the number of injected values minus 2.
    pub n_dof: usize,
    /// Probability of at least this chi2 if the relation is a line; `None` with two values.
    pub p_value: Option<f64>,
}

/// The toys at one injected value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Injected {
    /// Injected value.
    pub value: f64,
    /// Bias, pulls and coverage of the parameter.
    #[serde(flatten)]
    pub study: ParameterStudy,
    /// Number of toys that were run.
    pub n_toys: u64,
    /// Number of toys that did not converge or failed. They are left out.
    pub n_failed: u64,
}

/// The result of an injection test. Serialises to the JSON of `nextstat toys --inject`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct InjectionResult {
    /// Name of the parameter.
    pub param: String,
    /// One entry per injected value, in ascending order.
    pub points: Vec<Injected>,
    /// The line through the means; `None` with one value, or if a mean has no error.
    pub line: Option<Line>,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Number of toys per second of wall time.
    pub toys_per_s: Option<f64>,
    /// Whether the fits of the data and of all toys converged.
    pub converged: bool,
    /// Whether the caller stopped the work. Only finished values are counted.
    pub interrupted: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
}
