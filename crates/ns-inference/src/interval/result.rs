//! The result of a confidence interval.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::toy_nuisance::ToyNuisance;

/// One value of the parameter that was tested with toys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct IntervalPoint {
    /// Tested value.
    pub value: f64,
    /// Observed statistic: `-2 ln L` of the fit with the parameter held at `value` minus that of the free fit.
    pub t: f64,
    /// Fraction of the converged toys with a statistic of at least `t`; `None` if no toy converged. It is 1 without toys
    /// where `t` is 0.
    pub p_value: Option<f64>,
    /// Binomial error of `p_value`.
    pub p_value_error: Option<f64>,
    /// The p-value by the chi2 law.
    pub p_value_asymptotic: f64,
    /// Number of toys that were run.
    pub n_toys: u64,
    /// Number of toys that are left out because a fit did not converge.
    pub n_nonconverged: u64,
    /// Number of toys that are left out because a fit failed.
    pub n_error: u64,
}

/// One end of an interval.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Border {
    pub(super) value: Option<f64>,
    pub(super) error: Option<f64>,
    pub(super) reason: Option<String>,
}

/// The interval of the chi2 law: the values at which `-2 ln L` rises by at most the quantile of chi2.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct LikelihoodInterval {
    /// Rise of `-2 ln L` at the ends.
    pub level: f64,
    /// Lower end; `None` if there is none.
    pub lower: Option<f64>,
    /// Why `-2 ln L` does not rise by `level` below the best fit; `None` if it does.
    pub lower_reason: Option<String>,
    /// Upper end; `None` if there is none.
    pub upper: Option<f64>,
    /// Why `-2 ln L` does not rise by `level` above the best fit; `None` if it does.
    pub upper_reason: Option<String>,
}

impl LikelihoodInterval {
    pub(super) fn new(level: f64, lower: Border, upper: Border) -> Self {
        Self {
            level,
            lower: lower.value,
            lower_reason: lower.reason,
            upper: upper.value,
            upper_reason: upper.reason,
        }
    }
}

/// The result of a confidence interval. Serialises to the JSON of `nextstat interval`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct IntervalResult {
    /// Name of the parameter.
    pub param: String,
    /// Name of the method: "feldman-cousins" with toys, "likelihood" without.
    pub method: Cow<'static, str>,
    /// The nuisance parameters at which the toys were drawn; `None` without toys.
    #[serde(default)]
    pub nuisance: Option<ToyNuisance>,
    /// Confidence level.
    pub cl: f64,
    /// Best-fit value of the parameter.
    pub best_fit: f64,
    /// Lower end of the interval; `None` if there is none.
    pub lower: Option<f64>,
    /// Error of `lower` that comes from the number of toys and from the distance between tested values. It is 0 at a bound
    /// of the parameter, and `None` without toys.
    pub lower_error: Option<f64>,
    /// Why there is no lower end inside the bounds of the parameter; `None` if there is one.
    pub lower_reason: Option<String>,
    /// Upper end of the interval; `None` if there is none.
    pub upper: Option<f64>,
    /// Error of `upper`, like `lower_error`.
    pub upper_error: Option<f64>,
    /// Why there is no upper end inside the bounds of the parameter; `None` if there is one.
    pub upper_reason: Option<String>,
    /// Whether the tested values inside the interval are all next to each other. If not, the ends are those of the
    /// smallest interval that contains them. `None` without toys.
    pub connected: Option<bool>,
    /// The interval of the chi2 law.
    pub asymptotic: LikelihoodInterval,
    /// The values that were tested with toys, in ascending order; empty without toys.
    pub points: Vec<IntervalPoint>,
    /// Largest accepted error of an end, in units of the parameter; `None` without toys.
    pub accepted_error: Option<f64>,
    /// Number of toys of all tested values, with those of an earlier run.
    pub n_toys: u64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Number of toys per second of wall time; `None` if no toy was run.
    pub toys_per_s: Option<f64>,
    /// Whether the fits of the data converged and both ends are known well enough.
    pub converged: bool,
    /// Whether the caller stopped the work.
    pub interrupted: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
}

impl IntervalResult {
    pub(super) fn set_lower(&mut self, border: Border) {
        (self.lower, self.lower_error, self.lower_reason) = (border.value, border.error, border.reason);
    }

    pub(super) fn set_upper(&mut self, border: Border) {
        (self.upper, self.upper_error, self.upper_reason) = (border.value, border.error, border.reason);
    }
}
