//! The options of a study of parameters.

use std::sync::Arc;

use ns_core::BinnedData;
use serde::Deserialize;

use crate::FitOptions;
use crate::options::{self, Point};
use crate::toys::Shard;

/// Where the toys of a study are drawn.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GeneratingPoint {
    /// At the best fit of the data.
    #[serde(rename = "bestfit")]
    #[default]
    BestFit,
    /// At the model's initial parameters, fixed ones at their values.
    Init,
    /// At a given point. Values may lie outside bounds, which hold in the fits only.
    At(Point),
}

/// Options of [`fit_toys`](super::fit_toys), built step by step.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct FitToysOptions {
    /// Fixed parameters and search of all fits; data and start of the fit that gives the best fit.
    pub fit: FitOptions,
    /// Where toys are drawn.
    pub point: GeneratingPoint,
    /// The expectation that toys are drawn from instead of that at the point, which is then the best fit of this
    /// expectation: main counts and the values that auxiliary data scatter around.
    #[serde(deserialize_with = "options::expectation")]
    pub expectation: Option<Arc<BinnedData>>,
    /// The parameters studied, by full name; all free ones if empty.
    pub params: Vec<String>,
    /// How many toys.
    pub n_toys: u64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Which part of the toys to run.
    #[serde(deserialize_with = "options::text")]
    pub shard: Shard,
    /// Toys handed to the device at a time; chosen by their speed if `None`. No number depends on it.
    pub batch: Option<u64>,
}

impl Default for FitToysOptions {
    fn default() -> Self {
        Self {
            fit: FitOptions::default(),
            point: GeneratingPoint::BestFit,
            expectation: None,
            params: Vec::new(),
            n_toys: 1000,
            seed: 0,
            shard: Shard::WHOLE,
            batch: None,
        }
    }
}

options::setters! { FitToysOptions {
    fit: FitOptions, point: GeneratingPoint, params: Vec<String>, n_toys: u64, seed: u64, shard: Shard,
    batch: Option<u64>
} }

impl FitToysOptions {
    /// Draws toys of a given expectation, which need not be that of any parameters.
    #[must_use]
    pub fn expectation(mut self, expectation: Option<BinnedData>) -> Self {
        self.expectation = expectation.map(Arc::new);
        self
    }
}
