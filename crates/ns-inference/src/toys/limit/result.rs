//! The result of a toy-based limit.

use serde::Serialize;

use crate::hypotest::NsigmaOrder;
use crate::toys::PerHypothesis;

/// A value that was tested on the way to a limit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToyLimitPoint {
    /// The value.
    pub mu: f64,
    /// Observed CLs.
    pub cls: Option<f64>,
    /// Its statistical error.
    pub cls_error: Option<f64>,
    /// p-value of the tested hypothesis.
    pub clsb: Option<f64>,
    /// p-value of the alternative.
    pub clb: Option<f64>,
    /// The observed statistic.
    pub q_obs: Option<f64>,
    /// CLs expected at -2 to +2 standard deviations; empty unless asked for.
    pub expected_cls: Vec<Option<f64>>,
    /// Their statistical errors.
    pub expected_cls_error: Vec<Option<f64>>,
    /// Toys with a fit that did not reach its certificate.
    pub n_nonconverged: PerHypothesis<u64>,
    /// Toys with a fit that could not be made.
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
    /// Name of the statistic.
    pub test_stat: &'static str,
    /// The observed limit; `None` if CLs is not crossed.
    pub observed: Option<f64>,
    /// Its statistical error.
    pub observed_error: Option<f64>,
    /// Limits expected for background alone, at -2 to +2 standard deviations; empty unless asked for.
    pub expected: Vec<Option<f64>>,
    /// Their statistical errors.
    pub expected_error: Vec<Option<f64>>,
    /// Standard deviations that the five values of every expected band here belong to.
    pub nsigma_order: NsigmaOrder,
    /// The asymptotic limit that the search began with.
    pub observed_asymptotic: Option<f64>,
    /// Best-fit value of the parameter of interest.
    pub mu_hat: f64,
    /// Values of the parameter tested with toys.
    pub n_evaluations: usize,
    /// Toys of each hypothesis at every one of them.
    pub n_toys: u64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// The values tested, ascending.
    pub points: Vec<ToyLimitPoint>,
    /// Toys of both hypotheses per second of wall time.
    pub toys_per_s: Option<f64>,
    /// Whether every fit behind these numbers reached its certificate.
    pub converged: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
    /// True if the caller stopped the work; what is missing was not computed.
    #[serde(skip)]
    pub interrupted: bool,
}
