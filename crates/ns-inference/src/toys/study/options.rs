//! The options of a study of parameters.

use std::sync::Arc;

use ns_core::Observations;
use serde::Deserialize;

use crate::options::{self, Point};
use crate::toys::Shard;
use crate::{FitOptions, Work};

/// The values of all parameters at which the toys of a study are drawn.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GeneratingPoint {
    /// The best fit to the data.
    #[serde(rename = "bestfit")]
    #[default]
    BestFit,
    /// The initial parameters of the model. Fixed parameters have their fixed values.
    Init,
    /// A given point. Its values may lie outside the bounds of the parameters, which apply only to the fits.
    At(Point),
}

/// Options of [`fit_toys`](super::fit_toys), set by chained methods.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct FitToysOptions {
    /// Options of the fits. The fixed parameters and the search effort apply to all fits. The data and the starting
    /// point apply only to the fit that gives the generating point, for [`GeneratingPoint::BestFit`].
    pub fit: FitOptions,
    /// The parameter values at which toys are drawn.
    pub point: GeneratingPoint,
    /// Expected data from which toys are drawn: main counts, and central values of the auxiliary data. If these data
    /// are given, `point` has no effect. The best fit to the expected data is then used as the generating point.
    #[serde(deserialize_with = "options::expectation")]
    pub expectation: Option<Arc<Observations>>,
    /// Full names of the parameters to study. An empty list means all free parameters.
    pub params: Vec<String>,
    /// Number of toys.
    pub n_toys: u64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// The shard to run. A shard is one of several parts of a run.
    #[serde(deserialize_with = "options::text")]
    pub shard: Shard,
    /// Number of toys that the device gets at a time. If `None`, the number is chosen from the measured speed.
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
    /// Returns the number of fits of the toys in the shard. The choice of the device depends on this number.
    #[must_use]
    pub fn work(&self) -> Work {
        let shard = self.shard.range(self.n_toys);
        Work::Toys { toys: shard.end.saturating_sub(shard.start), fits: 1 }
    }

    /// Sets the expected data from which toys are drawn. The model need not be able to describe these data exactly.
    #[must_use]
    pub fn expectation(mut self, expectation: Option<Observations>) -> Self {
        self.expectation = expectation.map(Arc::new);
        self
    }
}
