//! The options of confidence intervals.

use serde::Deserialize;

use crate::toy_nuisance::ToyNuisance;
use crate::{FitOptions, Work, options};

/// Options of [`interval`](super::interval), set by chained methods.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct IntervalOptions {
    /// Data, fixed parameters, starting point and search effort of the fits to the observed data. The same parameters
    /// are fixed in the fits of toys.
    pub fit: FitOptions,
    /// Full name of the parameter; `None` for the parameter of interest.
    pub param: Option<String>,
    /// Confidence level, between 0 and 1.
    pub cl: f64,
    /// Largest number of toys at a tested value; `None` for the interval of the chi2 law alone.
    pub n_toys: Option<u64>,
    /// The nuisance parameters at which toys are drawn.
    pub nuisance: ToyNuisance,
    /// Seed of the random numbers. All tested values have the same seed, so that chance moves neighbouring p-values
    /// together.
    pub seed: u64,
    /// Number of equally spaced values that are tested before the borders are searched.
    pub points: usize,
    /// Largest accepted error of a border. The unit is half the width of the interval of the chi2 law.
    pub precision: f64,
}

impl Default for IntervalOptions {
    fn default() -> Self {
        Self {
            fit: FitOptions::default(),
            param: None,
            cl: 0.95,
            n_toys: None,
            nuisance: ToyNuisance::Profiled,
            seed: 0,
            points: 13,
            precision: 0.03,
        }
    }
}

options::setters! { IntervalOptions {
    fit: FitOptions, param: Option<String>, cl: f64, n_toys: Option<u64>, nuisance: ToyNuisance, seed: u64, points: usize, precision: f64
} }

impl IntervalOptions {
    /// Returns the work of the interval. The choice of the device depends on it.
    #[must_use]
    pub fn work(&self) -> Work {
        // About four values lie so near the borders that all their toys are made.
        self.n_toys.map_or(Work::Limit, |toys| Work::Toys { toys: toys.saturating_mul(4), fits: 2 })
    }
}
