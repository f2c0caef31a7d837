//! The options of a toy-based limit.

use serde::Deserialize;

use crate::{FitOptions, TestStatistic, options};

/// Options of [`upper_limit_toys`](super::upper_limit_toys), built step by step.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ToyLimitOptions {
    /// Data, fixed parameters, start and search of the fits.
    pub fit: FitOptions,
    /// q or qtilde.
    #[serde(rename = "test_stat", deserialize_with = "options::text")]
    pub statistic: TestStatistic,
    /// Confidence level.
    pub cl: f64,
    /// Find the expected limits too.
    pub expected: bool,
    /// Toys of each hypothesis at every value tested.
    pub n_toys: u64,
    /// Key of the random numbers; the same at every value, so that CLs moves smoothly from one to the next.
    pub seed: u64,
}

impl Default for ToyLimitOptions {
    fn default() -> Self {
        Self {
            fit: FitOptions::default(),
            statistic: TestStatistic::Qtilde,
            cl: 0.95,
            expected: false,
            n_toys: 10_000,
            seed: 0,
        }
    }
}

options::setters! { ToyLimitOptions {
    fit: FitOptions, statistic: TestStatistic, cl: f64, expected: bool, n_toys: u64, seed: u64
} }
