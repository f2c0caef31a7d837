//! The options of simplified likelihoods.

use serde::Deserialize;

use crate::{Work, options};

/// Options of [`simplify`](super::simplify()), set by chained methods.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SimplifyOptions {
    /// Names of the binned channels that are kept. An empty list means all channels on which the parameter of interest acts.
    pub channels: Vec<String>,
    /// Number of draws of the nuisance parameters from which the moments of the yields are computed.
    pub n_draws: u64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Whether the third moments are kept. Without them the background is linear in its nuisance parameters.
    pub third_moments: bool,
}

impl Default for SimplifyOptions {
    fn default() -> Self {
        Self { channels: Vec::new(), n_draws: 50_000, seed: 0, third_moments: true }
    }
}

options::setters! { SimplifyOptions {
    channels: Vec<String>, n_draws: u64, seed: u64, third_moments: bool
} }

impl SimplifyOptions {
    /// Returns the work, which is done on the CPU.
    #[must_use]
    pub fn work(&self) -> Work {
        Work::Test
    }
}
