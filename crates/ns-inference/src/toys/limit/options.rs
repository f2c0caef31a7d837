//! The options of an upper limit with toys.

use serde::Deserialize;

use crate::{FitOptions, TestStatistic, options};

/// Options of [`upper_limit_toys`](super::upper_limit_toys), set by chained methods.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ToyLimitOptions {
    /// Data, fixed parameters, starting point and search effort of the fits to the observed data.
    pub fit: FitOptions,
    /// Test statistic: q or qtilde.
    #[serde(rename = "test_stat", deserialize_with = "options::text")]
    pub statistic: TestStatistic,
    /// Confidence level, between 0.5 and 1.
    pub cl: f64,
    /// Whether to find the expected limits in addition to the observed limit.
    pub expected: bool,
    /// Number of toys of each hypothesis at every tested value.
    pub n_toys: u64,
    /// Seed of the random numbers. The same seed is used at every tested value, so that CLs is a smooth function of the
    /// tested value.
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
