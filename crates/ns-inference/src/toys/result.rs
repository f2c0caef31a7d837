//! The result of a toy-based test.

use serde::Serialize;

use super::Hypothesis;
use crate::hypotest::ExpectedSet;

/// Two values, one for each hypothesis of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct PerHypothesis<T> {
    /// Value for the alternative hypothesis.
    pub b: T,
    /// Value for the tested hypothesis.
    pub sb: T,
}

impl<T> PerHypothesis<T> {
    /// Returns a mutable reference to the value of one hypothesis.
    pub(super) fn of_mut(&mut self, hypothesis: Hypothesis) -> &mut T {
        match hypothesis {
            Hypothesis::Background => &mut self.b,
            Hypothesis::Signal => &mut self.sb,
        }
    }

    /// Applies a function to both values.
    pub(super) fn map<U>(self, f: impl Fn(T) -> U) -> PerHypothesis<U> {
        PerHypothesis { b: f(self.b), sb: f(self.sb) }
    }
}

/// The result of a toy-based test. Serialises to the JSON of `nextstat hypotest-toys`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HypotestToysResult {
    /// Name of the parameter of interest.
    pub param: String,
    /// Tested value of the parameter of interest.
    pub mu_test: f64,
    /// Name of the test statistic.
    pub test_stat: String,
    /// CLs of the observed data: `clsb / clb`. `None` for q0 and if `clb` is 0.
    pub cls: Option<f64>,
    /// Fraction of toys of the tested hypothesis whose statistic is at least the observed statistic.
    pub clsb: Option<f64>,
    /// Fraction of toys of the alternative whose statistic is at least the observed statistic.
    pub clb: Option<f64>,
    /// Statistical error of `cls`, propagated from the binomial errors of `clsb` and `clb`. If `cls` is 0,
    /// the upper end of its Clopper-Pearson interval of one standard deviation.
    pub cls_error: Option<f64>,
    /// Binomial error of `clsb`; if `clsb` is 0, its Clopper-Pearson upper end.
    pub clsb_error: Option<f64>,
    /// Binomial error of `clb`; if `clb` is 0, its Clopper-Pearson upper end.
    pub clb_error: Option<f64>,
    /// Upper limit on CLs at 95 % confidence if `cls` is 0; otherwise `None`.
    pub cls_upper: Option<f64>,
    /// CLs if all toys that failed or did not converge count as below the observed statistic.
    pub cls_failed_low: Option<f64>,
    /// CLs if all toys that failed or did not converge count as above the observed statistic.
    pub cls_failed_high: Option<f64>,
    /// Observed value of the test statistic.
    pub q_obs: f64,
    /// Best-fit value of the parameter of interest for the observed data.
    pub mu_hat: f64,
    /// Number of toys run, for each hypothesis.
    pub n_toys: PerHypothesis<u64>,
    /// Number of toys with a fit that did not converge, for each hypothesis.
    pub n_nonconverged: PerHypothesis<u64>,
    /// Number of toys with a fit that failed, for each hypothesis.
    pub n_error: PerHypothesis<u64>,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Effort of the search for the global minimum in the fits of toys: "local", "standard" or "thorough".
    pub search: String,
    /// Part of the run to which these toys belong, as in `1/1`.
    pub shard: String,
    /// Number of toys of both hypotheses per second of wall time; `None` for toys read from files.
    pub toys_per_s: Option<f64>,
    /// p-values expected for the alternative, in ascending order; `None` unless asked for.
    pub expected_set: Option<ExpectedSet>,
    /// Whether every fit behind these numbers converged.
    pub converged: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
    /// True if the caller stopped the work; only finished toys are counted.
    #[serde(skip)]
    pub interrupted: bool,
}
