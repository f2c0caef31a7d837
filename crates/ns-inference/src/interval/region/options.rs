//! The options of confidence regions.

use serde::Deserialize;

use crate::toy_nuisance::ToyNuisance;
use crate::{FitOptions, Work, options};

/// Options of [`region`](super::region()), set by chained methods.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RegionOptions {
    /// Data, fixed parameters, starting point and search effort of the fits to the observed data. The same parameters
    /// are fixed in the fits of toys.
    pub fit: FitOptions,
    /// Full name of the first parameter; `None` for the first parameter of interest.
    pub param: Option<String>,
    /// Full name of the second parameter; `None` for the next parameter of interest that is not the first parameter.
    pub param2: Option<String>,
    /// Confidence level, between 0 and 1.
    pub cl: f64,
    /// Largest number of toys at a tested point; `None` for the region of the chi2 law alone.
    pub n_toys: Option<u64>,
    /// The nuisance parameters at which toys are drawn.
    pub nuisance: ToyNuisance,
    /// Seed of the random numbers. All tested points have the same seed, so that chance moves neighbouring p-values
    /// together.
    pub seed: u64,
    /// Number of directions from the best fit in which the border is searched first. Further directions are added where the
    /// border bends.
    pub directions: usize,
    /// Number of points that are tested in each direction before the border is searched.
    pub points: usize,
    /// Largest accepted error of the border. The unit is the distance from the best fit to the border of the chi2 law in
    /// the same direction.
    pub precision: f64,
}

impl Default for RegionOptions {
    fn default() -> Self {
        Self {
            fit: FitOptions::default(),
            param: None,
            param2: None,
            cl: 0.95,
            n_toys: None,
            nuisance: ToyNuisance::Profiled,
            seed: 0,
            directions: 16,
            points: 6,
            precision: 0.05,
        }
    }
}

options::setters! { RegionOptions {
    fit: FitOptions, param: Option<String>, param2: Option<String>, cl: f64, n_toys: Option<u64>, nuisance: ToyNuisance, seed: u64,
    directions: usize, points: usize, precision: f64
} }

impl RegionOptions {
    /// Returns the work of the region. The choice of the device depends on it.
    #[must_use]
    pub fn work(&self) -> Work {
        // About two points of each direction lie so near the border that all their toys are made.
        let full = (self.directions as u64).saturating_mul(2);
        self.n_toys.map_or(Work::Limit, |toys| Work::Toys { toys: toys.saturating_mul(full), fits: 2 })
    }
}
