//! The result of a hypothesis test with toys.

use serde::{Deserialize, Serialize};

use super::{BinnedStatistic, Hypothesis};
use crate::hypotest::ExpectedSet;

/// Two values, one for each hypothesis of a test: the alternative (`b`) and the tested hypothesis (`sb`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PerHypothesis<T> {
    /// Value for the alternative hypothesis.
    pub b: T,
    /// Value for the tested hypothesis.
    pub sb: T,
}

impl<T> PerHypothesis<T> {
    /// Returns a mutable reference to the value for one of the two hypotheses.
    pub(super) fn of_mut(&mut self, hypothesis: Hypothesis) -> &mut T {
        match hypothesis {
            Hypothesis::Background => &mut self.b,
            Hypothesis::Signal => &mut self.sb,
        }
    }

    /// Applies a function to the values for both hypotheses.
    pub(super) fn map<U>(self, f: impl Fn(T) -> U) -> PerHypothesis<U> {
        PerHypothesis { b: f(self.b), sb: f(self.sb) }
    }
}

/// The result of a hypothesis test with toys. Serialises to the JSON of `nextstat hypotest-toys`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct HypotestToysResult {
    /// Name of the parameter of interest.
    pub param: String,
    /// Tested value of the parameter of interest.
    pub mu_test: f64,
    /// Name of the test statistic.
    pub test_stat: String,
    /// Observed CLs, which is `clsb / clb`. `None` for q0, and if `clb` is 0 or missing.
    pub cls: Option<f64>,
    /// Observed CLs+b: the fraction of toys of the tested hypothesis whose statistic is at least the observed
    /// statistic.
    pub clsb: Option<f64>,
    /// Observed CLb: the fraction of toys of the alternative hypothesis whose statistic is at least the observed
    /// statistic.
    pub clb: Option<f64>,
    /// Statistical error of `cls`, propagated from the binomial errors of `clsb` and `clb`. If `cls` is 0, the error
    /// is the upper end of the Clopper-Pearson interval of one standard deviation.
    pub cls_error: Option<f64>,
    /// Binomial error of `clsb`. If `clsb` is 0, the error is the upper end of the Clopper-Pearson interval of one
    /// standard deviation.
    pub clsb_error: Option<f64>,
    /// Binomial error of `clb`. If `clb` is 0, the error is the upper end of the Clopper-Pearson interval of one
    /// standard deviation.
    pub clb_error: Option<f64>,
    /// Upper limit on CLs at a confidence level of 95 %. It exists only if `cls` is 0.
    pub cls_upper: Option<f64>,
    /// CLs if the statistic of every toy that failed or did not converge is assumed to be below the observed
    /// statistic.
    pub cls_failed_low: Option<f64>,
    /// CLs if the statistic of every toy that failed or did not converge is assumed to be above the observed
    /// statistic.
    pub cls_failed_high: Option<f64>,
    /// Observed value of the test statistic.
    pub q_obs: f64,
    /// Best-fit value of the parameter of interest for the observed data.
    pub mu_hat: f64,
    /// Number of toys that were run, for each hypothesis.
    pub n_toys: PerHypothesis<u64>,
    /// Number of toys with a fit that did not converge, for each hypothesis.
    pub n_nonconverged: PerHypothesis<u64>,
    /// Number of toys with a fit that failed, for each hypothesis.
    pub n_error: PerHypothesis<u64>,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Effort of the search for the global minimum in the fits of toys: "local", "standard" or "thorough".
    pub search: String,
    /// Part (shard) of the run to which these toys belong. The text `1/1` means the whole run.
    pub shard: String,
    /// Number of toys of both hypotheses per second of wall time; `None` for toys read from files.
    pub toys_per_s: Option<f64>,
    /// Expected p-values under the alternative hypothesis, with CLs in ascending order. `None` if not asked for.
    pub expected_set: Option<ExpectedSet>,
    /// Whether every fit to the observed data and every fit of a toy converged.
    pub converged: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
    /// Whether the caller stopped the work. Only finished toys are counted.
    #[serde(skip)]
    pub interrupted: bool,
    /// Distribution of the test statistic in the converged toys of each hypothesis, in common bins.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required = true))]
    pub distributions: PerHypothesis<BinnedStatistic>,
}
