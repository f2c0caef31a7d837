//! The options of an upper limit.

use serde::Deserialize;

use crate::hypotest::TestStatistic;
use crate::{FitOptions, options};

/// Options of [`upper_limit`](super::upper_limit), built step by step.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LimitOptions {
    /// Data, fixed parameters, start point and search effort of all fits.
    pub fit: FitOptions,
    /// The test statistic: q or qtilde.
    #[serde(rename = "test_stat", deserialize_with = "options::text")]
    pub statistic: TestStatistic,
    /// Confidence level.
    pub cl: f64,
    /// True to leave out the observed limit.
    pub expected_only: bool,
    /// True to leave out the expected limits.
    pub observed_only: bool,
    /// Values of the POI at which CLs is computed in addition, for a plot.
    pub scan: Vec<f64>,
    /// Number of values at which CLs is computed if `scan` is empty. The values are chosen once the limits are known.
    /// They begin at 0 (or at the lower bound, if the bound is higher) and extend beyond the largest limit by a
    /// quarter of this range.
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
