//! Serialises results for Python's `pickle`, including fields that the JSON for users leaves out.

use serde::{Deserialize, Serialize};

use crate::fit::FitResult;
use crate::scan::{ContourLevel, ScanInterval, ScanResult, SecondAxis};

/// The result of a fit, stored with all its fields except the covariance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "FitParts", into = "FitParts")]
pub struct StoredFit(pub FitResult);

/// Stored form of a fit: the JSON for users, and two fields that this JSON leaves out: the number of evaluations, and
/// whether the fit was interrupted.
type FitParts = (FitResult, usize, bool);

impl From<StoredFit> for FitParts {
    fn from(StoredFit(fit): StoredFit) -> Self {
        let (n_evaluations, interrupted) = (fit.n_evaluations, fit.interrupted);
        (fit, n_evaluations, interrupted)
    }
}

impl From<FitParts> for StoredFit {
    fn from((fit, n_evaluations, interrupted): FitParts) -> Self {
        Self(FitResult { n_evaluations, interrupted, ..fit })
    }
}

/// The result of a scan, stored with all its fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StoredScan(#[serde(with = "PlainScan")] pub ScanResult);

/// The fields of [`ScanResult`] (serde's remote derive). All of them are stored.
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
    #[serde(default)]
    asimov_error: Option<f64>,
    reasons: Vec<Option<String>>,
    #[serde(default)]
    levels: Vec<ContourLevel>,
    intervals: Vec<ScanInterval>,
    n_iter: usize,
    warnings: Vec<String>,
    n_fits: usize,
    interrupted: bool,
}
