//! The result of a toy-based limit.

use serde::Serialize;

use crate::hypotest::NsigmaOrder;
use crate::toys::PerHypothesis;

/// A value of the parameter of interest that was tested in the search for a limit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToyLimitPoint {
    /// Tested value of the parameter of interest.
    pub mu: f64,
    /// Observed CLs.
    pub cls: Option<f64>,
    /// Statistical error of `cls`.
    pub cls_error: Option<f64>,
    /// Observed p-value of the tested hypothesis.
    pub clsb: Option<f64>,
    /// Observed p-value of the alternative.
    pub clb: Option<f64>,
    /// Observed value of the test statistic.
    pub q_obs: Option<f64>,
    /// CLs expected at -2 to +2 standard deviations; empty unless asked for.
    pub expected_cls: Vec<Option<f64>>,
    /// Statistical errors of `expected_cls`.
    pub expected_cls_error: Vec<Option<f64>>,
    /// Number of toys with a fit that did not converge, for each hypothesis.
    pub n_nonconverged: PerHypothesis<u64>,
    /// Number of toys with a fit that failed, for each hypothesis.
    pub n_error: PerHypothesis<u64>,
}

/// The result of a toy-based limit. Serialises to the JSON of `nextstat upper-limit --toys`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToyLimitResult {
    /// Name of the parameter of interest.
    pub param: String,
    /// Confidence level.
    pub cl: f64,
    /// Name of the test statistic.
    pub test_stat: &'static str,
    /// Observed limit; `None` if it was not found.
    pub observed: Option<f64>,
    /// Statistical error of `observed`.
    pub observed_error: Option<f64>,
    /// Limits expected for background alone, at -2 to +2 standard deviations; empty unless asked for.
    pub expected: Vec<Option<f64>>,
    /// Statistical errors of `expected`.
    pub expected_error: Vec<Option<f64>>,
    /// Numbers of standard deviations to which the five values of every expected band belong, in their order.
    pub nsigma_order: NsigmaOrder,
    /// Observed asymptotic limit, at which the search began.
    pub observed_asymptotic: Option<f64>,
    /// Best-fit value of the parameter of interest.
    pub mu_hat: f64,
    /// Number of values of the parameter of interest tested with toys.
    pub n_evaluations: usize,
    /// Number of toys of each hypothesis at every tested value.
    pub n_toys: u64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Effort of the search for the global minimum in the fits of toys: "local", "standard" or "thorough".
    pub search: String,
    /// Tested values with their p-values, in ascending order.
    pub points: Vec<ToyLimitPoint>,
    /// Number of toys of both hypotheses per second of wall time.
    pub toys_per_s: Option<f64>,
    /// Whether every fit behind these numbers converged.
    pub converged: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
    /// True if the caller stopped the work; limits that were not found are missing.
    #[serde(skip)]
    pub interrupted: bool,
}
