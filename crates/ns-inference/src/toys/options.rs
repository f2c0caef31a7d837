//! The options of a run of toys.

use ns_core::Model;
use serde::Deserialize;

use super::{Shard, ToyOrigin};
use crate::analysis::Analysis;
use crate::{FitOptions, InferenceError, TestStatistic, Work, options};

/// Largest number of toys in one run.
pub const MOST_TOYS: u64 = 1 << 48;

/// Options of a hypothesis test with toys, set by chained methods.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct HypotestToysOptions {
    /// Data, fixed parameters, starting point and search effort of the fits to the observed data. The same parameters
    /// are fixed in the fits of toys.
    pub fit: FitOptions,
    /// Test statistic.
    #[serde(rename = "test_stat", deserialize_with = "options::text")]
    pub statistic: TestStatistic,
    /// Number of toys of each hypothesis.
    pub n_toys: u64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// The shard to run. A shard is one of several parts of a run.
    #[serde(deserialize_with = "options::text")]
    pub shard: Shard,
    /// Whether to compute the expected values under the background hypothesis. For these values, the statistics of all
    /// toys are kept in memory: 8 bytes per toy, and at the end 24 more bytes per toy of the alternative hypothesis. If
    /// the expected values are not computed, the memory does not depend on the number of toys.
    pub expected_set: bool,
    /// Number of toys that the device gets at a time. If `None`, the number is chosen from the measured speed.
    /// Results do not depend on this number.
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

impl HypotestToysOptions {
    /// Returns the number of fits of the toys in the shard. The choice of the device depends on it.
    #[must_use]
    pub fn work(&self) -> Work {
        let shard = self.shard.range(self.n_toys);
        Work::Toys { toys: shard.end.saturating_sub(shard.start).saturating_mul(2), fits: 2 }
    }
}

/// Returns an error unless the number of toys is allowed.
///
/// # Errors
/// [`InferenceError::NumberOfToys`] unless `n_toys` is between 1 and [`MOST_TOYS`].
pub(crate) fn check_number(n_toys: u64) -> Result<(), InferenceError> {
    if (1..=MOST_TOYS).contains(&n_toys) {
        Ok(())
    } else {
        Err(InferenceError::NumberOfToys { n_toys, most: MOST_TOYS })
    }
}

/// Builds the part of the header that is common to toys of hypothesis tests and toys of studies. `point` and
/// `uncertainties` are the values and the uncertainties of all parameters.
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
        integral_tolerance: analysis.base.integral_tolerance,
        parameter_names: model.parameters.iter().map(|p| p.name.clone()).collect(),
        sigmas: point.iter().enumerate().map(sigma).collect(),
    }
}

/// Returns options for fits of the toys of `origin`, with the fixed parameters, the search effort and the accepted error of
/// integrals that `origin` contains. The data in the options are the observed data.
///
/// # Errors
/// [`InferenceError::ForeignToys`] if `origin` belongs to another model.
pub(super) fn fit_options(model: &Model, origin: &ToyOrigin) -> Result<FitOptions, InferenceError> {
    let digest = model.digest();
    if digest != origin.model_digest {
        return Err(InferenceError::ForeignToys {
            what: "the model's digest".into(),
            ours: digest,
            theirs: origin.model_digest.clone(),
        });
    }
    let mut options = FitOptions::default()
        .search(origin.search.parse().unwrap_or_default())
        .integral_tolerance(origin.integral_tolerance);
    for (name, value) in &origin.fixed {
        options = options.fix(name, *value);
    }
    Ok(options)
}
