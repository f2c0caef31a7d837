//! The options of a search at many places.

use serde::Deserialize;

use crate::{FitOptions, Work, options};

/// Options of [`look_elsewhere`](super::look_elsewhere()), set by chained methods.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LookElsewhereOptions {
    /// Data, fixed parameters, starting point and search effort of the fits.
    pub fit: FitOptions,
    /// Full name of the parameter that says where the signal is, such as a mass. Required.
    pub param: String,
    /// First place; `None` for the lower bound of the parameter.
    pub start: Option<f64>,
    /// Last place; `None` for the upper bound of the parameter.
    pub stop: Option<f64>,
    /// Number of places, at equal distances.
    pub points: usize,
    /// Value of `q0` whose crossings are counted.
    pub level: f64,
    /// Number of toys without signal; `None` to count the crossings of the data.
    pub n_toys: Option<u64>,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for LookElsewhereOptions {
    fn default() -> Self {
        Self {
            fit: FitOptions::default(),
            param: String::new(),
            start: None,
            stop: None,
            points: 61,
            level: 0.5,
            n_toys: None,
            seed: 0,
        }
    }
}

options::setters! { LookElsewhereOptions {
    fit: FitOptions, start: Option<f64>, stop: Option<f64>, points: usize, level: f64, n_toys: Option<u64>, seed: u64
} }

impl LookElsewhereOptions {
    /// Creates the options of a search along the parameter `name`.
    #[must_use]
    pub fn along(name: impl Into<String>) -> Self {
        Self { param: name.into(), ..Self::default() }
    }

    /// Returns the work of the search. The choice of the device depends on it.
    #[must_use]
    pub fn work(&self) -> Work {
        let points = self.points as u64;
        self.n_toys.map_or(Work::Scan { points }, |toys| {
            // Fits of a toy are counted as toys, because their number is not known to the prediction.
            Work::Toys { toys: toys.saturating_mul(points), fits: 1 }
        })
    }
}
