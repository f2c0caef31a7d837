//! The options of a run of toys.

use ns_core::Model;
use serde::Deserialize;

use super::{Shard, ToyOrigin};
use crate::analysis::Analysis;
use crate::{FitOptions, InferenceError, TestStatistic, options};

/// The largest number of toys of one run.
pub const MOST_TOYS: u64 = 1 << 48;

/// Options of a toy-based hypothesis test, built step by step.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct HypotestToysOptions {
    /// Data, fixed parameters, start and search of the observed fits; the toys' fits hold the same
    /// parameters.
    pub fit: FitOptions,
    /// The statistic.
    #[serde(rename = "test_stat", deserialize_with = "options::text")]
    pub statistic: TestStatistic,
    /// Toys of each hypothesis.
    pub n_toys: u64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Which part of the toys to run.
    #[serde(deserialize_with = "options::text")]
    pub shard: Shard,
    /// Compute the band expected for background alone. It needs the statistics of all toys at once: 8 bytes
    /// each, and 24 more per toy of the alternative at the end. Without it any number of toys takes the same
    /// memory.
    pub expected_set: bool,
    /// Toys handed to the device at a time; chosen by their speed if `None`. No number depends on it.
    pub batch: Option<u64>,
}

impl Default for HypotestToysOptions {
    fn default() -> Self {
        Self {
            fit: FitOptions::default(),
            statistic: TestStatistic::Qtilde,
            n_toys: 10_000,
            seed: 0,
            shard: Shard::WHOLE,
            expected_set: false,
            batch: None,
        }
    }
}

options::setters! { HypotestToysOptions {
    fit: FitOptions, statistic: TestStatistic, n_toys: u64, seed: u64, shard: Shard, expected_set: bool,
    batch: Option<u64>
} }

/// Checks a number of toys.
///
/// # Errors
/// [`InferenceError::NumberOfToys`] unless it lies between 1 and [`MOST_TOYS`].
pub(crate) fn check_number(n_toys: u64) -> Result<(), InferenceError> {
    if (1..=MOST_TOYS).contains(&n_toys) {
        Ok(())
    } else {
        Err(InferenceError::NumberOfToys { n_toys, most: MOST_TOYS })
    }
}

/// The common header of the toys of an analysis.
pub(super) fn origin(
    analysis: &Analysis<'_>,
    seed: u64,
    n_toys: u64,
    shard: Shard,
    point: &[f64],
    uncertainties: &[Option<f64>],
) -> ToyOrigin {
    let model = analysis.model;
    let name = |i: usize| model.parameters.get(i).map_or_else(String::new, |p| p.name.clone());
    let sigma = |(i, x): (usize, &f64)| {
        let known = uncertainties.get(i).copied().flatten();
        known.filter(|s| s.is_finite() && *s > 0.0).unwrap_or_else(|| x.abs().max(1.0))
    };
    ToyOrigin {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        model_digest: model.digest(),
        data_digest: analysis.data.counts(model).digest(),
        interpolation: model.interpolation.to_string(),
        samplers: ns_core::random::SAMPLERS,
        seed,
        n_toys,
        shard,
        fixed: analysis.base.fixed.iter().map(|&(i, value)| (name(i), value)).collect(),
        search: analysis.base.search.name().to_owned(),
        parameter_names: model.parameters.iter().map(|p| p.name.clone()).collect(),
        sigmas: point.iter().enumerate().map(sigma).collect(),
    }
}

/// The fit that the toys of an origin vary: fixed parameters and search; observed data.
///
/// # Errors
/// [`InferenceError::ForeignToys`] if the model is another one than the origin's.
pub(super) fn fit_options(model: &Model, origin: &ToyOrigin) -> Result<FitOptions, InferenceError> {
    let digest = model.digest();
    if digest != origin.model_digest {
        return Err(InferenceError::ForeignToys {
            what: "the model's digest".into(),
            ours: digest,
            theirs: origin.model_digest.clone(),
        });
    }
    let mut options = FitOptions::default().search(origin.search.parse().unwrap_or_default());
    for (name, value) in &origin.fixed {
        options = options.fix(name, *value);
    }
    Ok(options)
}
