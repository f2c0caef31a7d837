//! Serialises results exactly, to the last bit, for pickles. The JSON that users see does not allow that.

use serde::{Deserialize, Serialize};

use crate::fit::FitResult;
use crate::minos::Interval;
use crate::scan::{ScanInterval, ScanResult, SecondAxis};

/// A fit, all but its covariance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StoredFit(#[serde(with = "PlainFit")] pub FitResult);

/// A scan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StoredScan(#[serde(with = "PlainScan")] pub ScanResult);

/// The fields of [`FitResult`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "FitResult")]
struct PlainFit {
    parameter_names: Vec<String>,
    bestfit: Vec<f64>,
    uncertainties: Vec<Option<f64>>,
    #[serde(skip)]
    covariance: Option<ns_core::Covariance>,
    nll: f64,
    twice_nll: f64,
    poi_index: Option<usize>,
    converged: bool,
    edm: Option<f64>,
    n_iter: usize,
    at_bound: Vec<String>,
    at_kink: Vec<String>,
    flat: Vec<String>,
    fixed: Vec<String>,
    termination_reason: String,
    #[serde(with = "intervals")]
    minos: Vec<Interval>,
    #[serde(with = "intervals")]
    crossings: Vec<Interval>,
    warnings: Vec<String>,
    n_evaluations: usize,
    pulls: Vec<Option<f64>>,
    interrupted: bool,
}

/// The fields of [`ScanResult`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "ScanResult")]
struct PlainScan {
    param: String,
    mu_values: Vec<f64>,
    second: Option<SecondAxis>,
    twice_delta_nll: Vec<Option<f64>>,
    q_mu_values: Vec<Option<f64>>,
    mu_hat: f64,
    uncertainty: Option<f64>,
    twice_nll: f64,
    converged: Vec<bool>,
    bestfit_converged: bool,
    reasons: Vec<Option<String>>,
    intervals: Vec<ScanInterval>,
    n_iter: usize,
    warnings: Vec<String>,
    n_fits: usize,
    interrupted: bool,
}

/// Intervals with the names that their own JSON leaves to the object around them.
mod intervals {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Interval;

    /// The fields of [`Interval`].
    #[derive(Serialize, Deserialize)]
    #[serde(remote = "Interval")]
    struct PlainInterval {
        parameter: String,
        lower: Option<f64>,
        upper: Option<f64>,
        lower_crossing: Option<f64>,
        upper_crossing: Option<f64>,
        lower_reason: Option<String>,
        upper_reason: Option<String>,
    }

    #[derive(Serialize)]
    struct Given<'a>(#[serde(with = "PlainInterval")] &'a Interval);

    #[derive(Deserialize)]
    struct Read(#[serde(with = "PlainInterval")] Interval);

    pub(super) fn serialize<S: Serializer>(list: &[Interval], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(list.iter().map(Given))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Interval>, D::Error> {
        Ok(Vec::<Read>::deserialize(deserializer)?.into_iter().map(|read| read.0).collect())
    }
}
