//! The result of an upper limit with toys.

use serde::Serialize;

use crate::hypotest::NsigmaOrder;
use crate::toys::PerHypothesis;

/// A value of the parameter of interest that was tested in the search for a limit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct ToyLimitPoint {
    /// Tested value of the parameter of interest.
    pub mu: f64,
    /// Observed CLs; `None` if it does not exist.
    pub cls: Option<f64>,
    /// Statistical error of `cls`; `None` if `cls` is `None`.
    pub cls_error: Option<f64>,
    /// Observed p-value CLs+b of the tested hypothesis; `None` if no toy converged.
    pub clsb: Option<f64>,
    /// Observed p-value CLb of the alternative hypothesis; `None` if no toy converged.
    pub clb: Option<f64>,
    /// Observed test statistic; `None` if no toys could be run.
    pub q_obs: Option<f64>,
    /// Expected CLs at -2 to +2 standard deviations; empty if not asked for.
    pub expected_cls: Vec<Option<f64>>,
    /// Statistical errors of `expected_cls`, in the same order.
    pub expected_cls_error: Vec<Option<f64>>,
    /// Number of toys with a fit that did not converge, for each hypothesis.
    pub n_nonconverged: PerHypothesis<u64>,
    /// Number of toys with a fit that failed, for each hypothesis.
    pub n_error: PerHypothesis<u64>,
}

/// The result of an upper limit with toys. Serialises to the JSON of `nextstat upper-limit --toys`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
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
    /// Statistical error of `observed`, due to the number of toys; `None` if `observed` is `None`.
    pub observed_error: Option<f64>,
    /// Five limits expected under the background-only hypothesis, at -2 to +2 standard deviations. Empty if not asked
    /// for.
    pub expected: Vec<Option<f64>>,
    /// Statistical errors of `expected`, in the same order.
    pub expected_error: Vec<Option<f64>>,
    /// Numbers of standard deviations of the five values in each list of expected values.
    pub nsigma_order: NsigmaOrder,
    /// Observed asymptotic limit, at which the search began; `None` if it does not exist.
    pub observed_asymptotic: Option<f64>,
    /// Best-fit value of the parameter of interest.
    pub mu_hat: f64,
    /// Number of values of the parameter of interest that were tested with toys.
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
    /// Whether every fit to the observed data and every fit of a toy converged.
    pub converged: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
    /// Whether the caller stopped the work. Some limits may then be missing.
    #[serde(skip)]
    pub interrupted: bool,
}
