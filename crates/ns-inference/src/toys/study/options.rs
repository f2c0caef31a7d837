//! The options of a study of parameters.

use std::sync::Arc;

use ns_core::Observations;
use serde::Deserialize;

use crate::options::{self, Point};
use crate::toys::Shard;
use crate::{FitOptions, Work};

/// The parameter point at which the toys of a study are drawn.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GeneratingPoint {
    /// At the best fit to the data.
    #[serde(rename = "bestfit")]
    #[default]
    BestFit,
    /// At the model's initial parameters, with fixed parameters at their fixed values.
    Init,
    /// At a given point. Its values may lie outside the bounds, which apply only to the fits.
    At(Point),
}

/// Options of [`fit_toys`](super::fit_toys), set by chained methods.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct FitToysOptions {
    /// Fixed parameters and search of all fits. For [`GeneratingPoint::BestFit`] also the data and the
    /// starting point of the fit whose minimum is the generating point.
    pub fit: FitOptions,
    /// Parameter point at which toys are drawn.
    pub point: GeneratingPoint,
    /// Expected data from which toys are drawn: main counts, and central values of the auxiliary data. If
    /// given, `point` is ignored, and the best fit to the expected data takes its place.
    #[serde(deserialize_with = "options::expectation")]
    pub expectation: Option<Arc<Observations>>,
    /// Full names of the parameters to study. If empty, all free parameters are studied.
    pub params: Vec<String>,
    /// Number of toys.
    pub n_toys: u64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Part of the toys to run.
    #[serde(deserialize_with = "options::text")]
    pub shard: Shard,
    /// Number of toys handed to the device at a time. If `None`, the number is chosen from the measured speed.
    /// Results do not depend on this number.
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
    /// Returns the description of the fits of the shard's toys, on which the choice of the device depends.
    #[must_use]
    pub fn work(&self) -> Work {
        let shard = self.shard.range(self.n_toys);
        Work::Toys { toys: shard.end.saturating_sub(shard.start), fits: 1 }
    }

    /// Sets the expected data from which toys are drawn. There need not be parameter values at which the model
    /// expects these data.
    #[must_use]
    pub fn expectation(mut self, expectation: Option<Observations>) -> Self {
        self.expectation = expectation.map(Arc::new);
        self
    }
}
