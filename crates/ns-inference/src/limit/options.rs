//! The options of an upper limit.

use serde::Deserialize;

use crate::hypotest::TestStatistic;
use crate::{FitOptions, options};

/// Options of [`upper_limit`](super::upper_limit), set by chained methods.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LimitOptions {
    /// Data, fixed parameters, starting point and search effort of all fits.
    pub fit: FitOptions,
    /// The test statistic: q or qtilde.
    #[serde(rename = "test_stat", deserialize_with = "options::text")]
    pub statistic: TestStatistic,
    /// Confidence level, between 0.5 and 1.
    pub cl: f64,
    /// Whether to leave out the observed limit.
    pub expected_only: bool,
    /// Whether to leave out the expected limits.
    pub observed_only: bool,
    /// Additional values of the POI at which CLs is computed, for a plot.
    pub scan: Vec<f64>,
    /// Number of values at which CLs is computed if `scan` is empty. The values are chosen after the limits have been
    /// found. The first value is 0, or the lower bound of the POI if this bound is positive. The last value lies
    /// above the largest limit, by a quarter of the distance from the first value to the largest limit.
    pub auto_scan: Option<usize>,
}

impl Default for LimitOptions {
    fn default() -> Self {
        Self {
            fit: FitOptions::default(),
            statistic: TestStatistic::Qtilde,
            cl: 0.95,
            expected_only: false,
            observed_only: false,
            scan: Vec::new(),
            auto_scan: None,
        }
    }
}

options::setters! { LimitOptions {
    fit: FitOptions, statistic: TestStatistic, cl: f64, expected_only: bool, observed_only: bool,
    scan: Vec<f64>, auto_scan: Option<usize>
} }
