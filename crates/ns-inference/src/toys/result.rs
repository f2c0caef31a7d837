//! The result of a toy-based test.

use serde::Serialize;

use super::Hypothesis;
use crate::hypotest::ExpectedSet;

/// A number of each hypothesis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct PerHypothesis<T> {
    /// Of the alternative.
    pub b: T,
    /// Of the tested hypothesis.
    pub sb: T,
}

impl<T> PerHypothesis<T> {
    /// The number of one hypothesis, mutable.
    pub(super) fn of_mut(&mut self, hypothesis: Hypothesis) -> &mut T {
        match hypothesis {
            Hypothesis::Background => &mut self.b,
            Hypothesis::Signal => &mut self.sb,
        }
    }

    /// Applies a function to both numbers.
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
    /// The tested value.
    pub mu_test: f64,
    /// Name of the statistic.
    pub test_stat: String,
    /// CLs of the observed data: `clsb / clb`. `None` for q0 and where `clb` is 0.
    pub cls: Option<f64>,
    /// Fraction of toys of the tested hypothesis with a statistic not below the observed one.
    pub clsb: Option<f64>,
    /// The same of the alternative.
    pub clb: Option<f64>,
    /// Statistical error of `cls`: both binomial errors propagated. Where no toy of sb counts, the upper
    /// end of the Clopper-Pearson interval of one standard deviation.
    pub cls_error: Option<f64>,
    /// Binomial error of `clsb`; where it is 0, the same bound.
    pub clsb_error: Option<f64>,
    /// Binomial error of `clb`; where it is 0, the same bound.
    pub clb_error: Option<f64>,
    /// Where `cls` is 0: what it stays below at 95 % confidence.
    pub cls_upper: Option<f64>,
    /// CLs with all toys that failed or did not converge counted below the observed statistic.
    pub cls_failed_low: Option<f64>,
    /// CLs with all of them counted above.
    pub cls_failed_high: Option<f64>,
    /// The observed statistic.
    pub q_obs: f64,
    /// Best-fit value of the parameter of interest for the observed data.
    pub mu_hat: f64,
    /// Toys run.
    pub n_toys: PerHypothesis<u64>,
    /// Those with a fit that did not reach its certificate.
    pub n_nonconverged: PerHypothesis<u64>,
    /// Those with a fit that could not be made.
    pub n_error: PerHypothesis<u64>,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Which part of the run these toys are.
    pub shard: String,
    /// Toys of both hypotheses per second of wall time; `None` for toys read from files.
    pub toys_per_s: Option<f64>,
    /// p-values expected for the alternative, ascending in CLs; `None` unless asked for.
    pub expected_set: Option<ExpectedSet>,
    /// Whether every fit behind these numbers reached its certificate.
    pub converged: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
    /// True if the caller stopped the work; the toys done by then are counted.
    #[serde(skip)]
    pub interrupted: bool,
}
