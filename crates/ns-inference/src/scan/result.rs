//! The named result of a scan.

use serde::ser::{SerializeSeq, SerializeStruct};
use serde::{Deserialize, Serialize, Serializer};

/// Where `twice_delta_nll` crosses a level on either side of the best fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScanInterval {
    /// The level: 1 or 4.
    pub level: f64,
    /// Probability that such an interval contains the true value, for large samples.
    pub confidence_level: f64,
    /// Value of the parameter at the lower crossing.
    pub lower: Option<f64>,
    /// Value of the parameter at the upper crossing.
    pub upper: Option<f64>,
    /// Why there is no lower crossing.
    pub lower_reason: Option<String>,
    /// Why there is no upper crossing.
    pub upper_reason: Option<String>,
}

/// Probabilities of a chi-square with one degree of freedom below 1 and below 4.
const ONE_SIGMA: f64 = 0.682_689_492_137_085_9;
const TWO_SIGMA: f64 = 0.954_499_736_103_641_6;

impl ScanInterval {
    /// An interval without crossings, for the same reason on both sides.
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

    /// Sets the crossing of one side.
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

/// A height of `twice_delta_nll` in two parameters that encloses a given probability.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ContourLevel {
    /// Probability that the contour contains the true values, for large samples.
    pub confidence_level: f64,
    /// `-2 ln(1 - confidence_level)`.
    pub twice_delta_nll: f64,
}

impl ContourLevel {
    /// The contours of the field: 68.27 % (2.30) and 95 % (5.99).
    #[must_use]
    pub fn usual() -> [Self; 2] {
        [ONE_SIGMA, 0.95].map(|p| Self { confidence_level: p, twice_delta_nll: -2.0 * (-p).ln_1p() })
    }
}

/// The second parameter of a scan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SecondAxis {
    /// Full name.
    pub param: String,
    /// Its points, in the order of the request.
    pub mu_values: Vec<f64>,
    /// Its best-fit value.
    pub mu_hat: f64,
    /// Its uncertainty, from the Hessian at the best fit.
    pub uncertainty: Option<f64>,
}

/// A profile likelihood scan. Serialises to the JSON of `nextstat scan`; a number that does not exist is
/// `null`, and a warning says why.
///
/// The values per point are flat: point `k` has the first parameter's value `k % n` and the second's value
/// `k / n`, where `n` is the number of the first's. In JSON a scan in two parameters has one row per value of
/// the second.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ScanResult {
    /// Full name of the (first) scanned parameter.
    pub param: String,
    /// Its points, in the order of the request.
    pub mu_values: Vec<f64>,
    /// The second parameter, if there is one.
    pub second: Option<SecondAxis>,
    /// `twice_nll`, minimised over all other parameters, above the best fit's, per point.
    pub twice_delta_nll: Vec<Option<f64>>,
    /// The one-sided statistic per point: 0 where the value lies below the best fit. Empty in two parameters.
    pub q_mu_values: Vec<Option<f64>>,
    /// Best-fit value of the (first) parameter.
    pub mu_hat: f64,
    /// Its uncertainty, from the Hessian at the best fit.
    pub uncertainty: Option<f64>,
    /// `twice_nll` at the best fit.
    pub twice_nll: f64,
    /// Whether the certificate of a minimum holds, per point.
    pub converged: Vec<bool>,
    /// Whether it holds at the best fit.
    pub bestfit_converged: bool,
    /// Per point, why there is no value or no certificate.
    pub reasons: Vec<Option<String>>,
    /// Where `twice_delta_nll` crosses 1 and 4; empty in two parameters, at one point, or if not asked for.
    pub intervals: Vec<ScanInterval>,
    /// Iterations of all fits.
    pub n_iter: usize,
    /// Warnings about the result.
    pub warnings: Vec<String>,
    /// Number of fits, the free one and those of the intervals included.
    pub n_fits: usize,
    /// True if the caller stopped the work after the best fit was found.
    pub interrupted: bool,
}

impl ScanResult {
    /// Lengths of the rows of a scan in two parameters; everything in one row for one parameter.
    #[must_use]
    pub fn row_length(&self) -> usize {
        self.mu_values.len().max(1)
    }

    /// Whether the best fit and at least one point have a certificate.
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

/// A flat list as rows.
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
