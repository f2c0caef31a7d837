//! The result of a scan, with parameter names.

use serde::ser::{SerializeSeq, SerializeStruct};
use serde::{Deserialize, Serialize, Serializer};

/// The values at which `twice_delta_nll` crosses a level below and above the best fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScanInterval {
    /// Level of `twice_delta_nll`: 1 or 4.
    pub level: f64,
    /// Probability that such an interval contains the true value, for large samples.
    pub confidence_level: f64,
    /// Value of the parameter at the lower crossing.
    pub lower: Option<f64>,
    /// Value of the parameter at the upper crossing.
    pub upper: Option<f64>,
    /// Reason why there is no lower crossing.
    pub lower_reason: Option<String>,
    /// Reason why there is no upper crossing.
    pub upper_reason: Option<String>,
}

/// Probability that a chi-square variable with one degree of freedom is below 1.
const ONE_SIGMA: f64 = 0.682_689_492_137_085_9;
/// Probability that a chi-square variable with one degree of freedom is below 4.
const TWO_SIGMA: f64 = 0.954_499_736_103_641_6;

impl ScanInterval {
    /// Creates an interval without crossings, with the same reason on both sides.
    pub(super) fn new(level: f64, reason: &str) -> Self {
        let reason = Some(reason.to_owned());
        Self {
            level,
            confidence_level: if level == 1.0 { ONE_SIGMA } else { TWO_SIGMA },
            lower: None,
            upper: None,
            lower_reason: reason.clone(),
            upper_reason: reason,
        }
    }

    /// Stores the crossing of one side, or the reason why there is no crossing.
    pub(super) fn record(&mut self, direction: f64, answer: Result<f64, String>) {
        let (crossing, reason) = match answer {
            Ok(value) => (Some(value), None),
            Err(reason) => (None, Some(reason)),
        };
        if direction < 0.0 {
            (self.lower, self.lower_reason) = (crossing, reason);
        } else {
            (self.upper, self.upper_reason) = (crossing, reason);
        }
    }
}

/// A level of `twice_delta_nll` in two parameters whose contour has a given confidence level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ContourLevel {
    /// Probability that the contour contains the true values, for large samples.
    pub confidence_level: f64,
    /// Level of `twice_delta_nll`: `-2 ln(1 - confidence_level)`.
    pub twice_delta_nll: f64,
}

impl ContourLevel {
    /// Returns the levels that are usual in particle physics: 68.27 % (2.30) and 95 % (5.99).
    #[must_use]
    pub fn usual() -> [Self; 2] {
        [ONE_SIGMA, 0.95].map(|p| Self { confidence_level: p, twice_delta_nll: -2.0 * (-p).ln_1p() })
    }
}

/// The second parameter of a scan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SecondAxis {
    /// Full name of the parameter.
    pub param: String,
    /// Scanned values, in the order of the request.
    pub mu_values: Vec<f64>,
    /// Best-fit value of the parameter.
    pub mu_hat: f64,
    /// Uncertainty of the parameter, from the Hessian at the best fit.
    pub uncertainty: Option<f64>,
}

/// A profile likelihood scan. Serialises to the JSON of `nextstat scan`. A number that does not exist is
/// `null` there, and a warning gives the reason.
///
/// The lists with one number per point are flat: point `k` has value number `k % n` of the first parameter and value
/// number `k / n` of the second, where `n` is the number of values of the first. In the JSON of a scan in two
/// parameters, these lists become lists of rows, one row for each value of the second parameter.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ScanResult {
    /// Full name of the first or only scanned parameter.
    pub param: String,
    /// Scanned values of the first parameter, in the order of the request.
    pub mu_values: Vec<f64>,
    /// The second scanned parameter, if there is one.
    pub second: Option<SecondAxis>,
    /// Profile per point: `twice_nll`, minimised over all other parameters, minus `twice_nll` at the best
    /// fit.
    pub twice_delta_nll: Vec<Option<f64>>,
    /// One-sided test statistic per point: `twice_delta_nll`, but 0 at values below the best fit. Empty in two
    /// parameters.
    pub q_mu_values: Vec<Option<f64>>,
    /// Best-fit value of the first parameter.
    pub mu_hat: f64,
    /// Uncertainty of the first parameter, from the Hessian at the best fit.
    pub uncertainty: Option<f64>,
    /// `twice_nll` at the best fit.
    pub twice_nll: f64,
    /// Whether the fit converged, per point.
    pub converged: Vec<bool>,
    /// Whether the free fit converged.
    pub bestfit_converged: bool,
    /// Reason why the fit failed or did not converge, per point.
    pub reasons: Vec<Option<String>>,
    /// Intervals at the levels 1 and 4. Empty in two parameters, for a single point, and if intervals were not asked
    /// for.
    pub intervals: Vec<ScanInterval>,
    /// Number of iterations of all fits.
    pub n_iter: usize,
    /// Warnings about the result.
    pub warnings: Vec<String>,
    /// Number of fits, including the free fit and the fits for the intervals.
    pub n_fits: usize,
    /// True if the caller stopped the work after the best fit was found.
    pub interrupted: bool,
}

impl ScanResult {
    /// Returns the number of points in each row of a scan in two parameters. All points of a scan in one
    /// parameter are in one row.
    #[must_use]
    pub fn row_length(&self) -> usize {
        self.mu_values.len().max(1)
    }

    /// Returns whether the free fit and the fit of at least one point converged.
    #[must_use]
    pub fn usable(&self) -> bool {
        self.bestfit_converged && self.converged.contains(&true)
    }
}

impl Serialize for ScanResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_struct("ScanResult", 16)?;
        let row = self.row_length();
        map.serialize_field("param", &self.param)?;
        map.serialize_field("mu_values", &self.mu_values)?;
        if let Some(second) = &self.second {
            map.serialize_field("param2", &second.param)?;
            map.serialize_field("mu2_values", &second.mu_values)?;
            map.serialize_field("twice_delta_nll", &Rows(&self.twice_delta_nll, row))?;
        } else {
            map.serialize_field("twice_delta_nll", &self.twice_delta_nll)?;
            map.serialize_field("q_mu_values", &self.q_mu_values)?;
        }
        map.serialize_field("mu_hat", &self.mu_hat)?;
        map.serialize_field("uncertainty", &self.uncertainty)?;
        if let Some(second) = &self.second {
            map.serialize_field("mu2_hat", &second.mu_hat)?;
            map.serialize_field("uncertainty2", &second.uncertainty)?;
            map.serialize_field("levels", &ContourLevel::usual())?;
            map.serialize_field("converged", &Rows(&self.converged, row))?;
            map.serialize_field("reasons", &Rows(&self.reasons, row))?;
        } else {
            map.serialize_field("intervals", &self.intervals)?;
            map.serialize_field("converged", &self.converged)?;
            map.serialize_field("reasons", &self.reasons)?;
        }
        map.serialize_field("twice_nll", &self.twice_nll)?;
        map.serialize_field("bestfit_converged", &self.bestfit_converged)?;
        map.serialize_field("n_iter", &self.n_iter)?;
        map.serialize_field("warnings", &self.warnings)?;
        map.end()
    }
}

/// Serialises a flat list as rows of a given length.
struct Rows<'a, T>(&'a [T], usize);

impl<T: Serialize> Serialize for Rows<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for row in self.0.chunks(self.1.max(1)) {
            list.serialize_element(row)?;
        }
        list.end()
    }
}
