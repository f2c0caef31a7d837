//! The options of samples of a posterior.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Prior;
use crate::{FitOptions, Work, options};

/// Options of [`sample`](super::sample), set by chained methods.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct PosteriorOptions {
    /// Data, fixed parameters, and the starting point and search effort of the fit at which the chains begin.
    pub fit: FitOptions,
    /// Priors of free parameters, by full name. A free parameter without one has a flat prior within its bounds.
    pub priors: BTreeMap<String, Prior>,
    /// Number of independent chains.
    pub chains: usize,
    /// Number of draws of each chain that are kept.
    pub draws: usize,
    /// Number of draws of each chain that adapt the step size and are then thrown away.
    pub tune: usize,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Probability of the credible intervals and of the upper limits.
    pub cl: f64,
    /// Number of chains that run at the same time; 0 means one per core.
    pub threads: usize,
}

impl Default for PosteriorOptions {
    fn default() -> Self {
        let fit = FitOptions::default();
        Self {
            fit,
            priors: BTreeMap::new(),
            chains: 4,
            draws: 1000,
            tune: 500,
            seed: 0,
            cl: 0.95,
            threads: 0,
        }
    }
}

options::setters! { PosteriorOptions {
    fit: FitOptions, priors: BTreeMap<String, Prior>, chains: usize, draws: usize, tune: usize, seed: u64, cl: f64, threads: usize
} }

impl PosteriorOptions {
    /// Returns the work of sampling. Chains run on the CPU.
    #[must_use]
    pub fn work(&self) -> Work {
        Work::Fit
    }
}
