//! The options of tests of compatibility.

use serde::Deserialize;

use crate::{FitOptions, Work, options};

/// Options of [`compatibility`](super::compatibility), set by chained methods.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct CompatibilityOptions {
    /// Data, fixed parameters, starting point and search effort of all fits.
    pub fit: FitOptions,
    /// Number of toys that are drawn at the best fit with a common value; `None` for the chi2 law alone.
    pub n_toys: Option<u64>,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Whether the value of the other channels is found for each channel.
    pub leave_out: bool,
}

options::setters! { CompatibilityOptions {
    fit: FitOptions, n_toys: Option<u64>, seed: u64, leave_out: bool
} }

impl CompatibilityOptions {
    /// Returns the work of the test. The choice of the device depends on it.
    #[must_use]
    pub fn work(&self) -> Work {
        self.n_toys.map_or(Work::Test, |toys| Work::Toys { toys: toys.saturating_mul(2), fits: 1 })
    }
}
