//! The result of a scan, with the names of parameters.

use serde::ser::{SerializeSeq, SerializeStruct};
use serde::{Deserialize, Serialize, Serializer};

use crate::InferenceError;
use crate::normal::quantile;

/// The values of a parameter below and above its best fit at which `twice_delta_nll` (the rise of `-2 ln L` above its
/// minimum) crosses a level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct ScanInterval {
    /// Rise of `-2 ln L` above its minimum at the crossings, by default 1 and 4.
    pub level: f64,
    /// Confidence level: the probability, for large samples, that the interval contains the true value.
    pub confidence_level: f64,
    /// Value of the parameter at the lower crossing; `None` if there is no lower crossing.
    pub lower: Option<f64>,
    /// Value of the parameter at the upper crossing; `None` if there is no upper crossing.
    pub upper: Option<f64>,
    /// Reason why there is no lower crossing; `None` if there is one.
    pub lower_reason: Option<String>,
    /// Reason why there is no upper crossing; `None` if there is one.
    pub upper_reason: Option<String>,
}

/// Largest number of levels. Each level of a scan in one parameter needs fits of its own.
const MOST_LEVELS: usize = 100;
/// Probability that a chi-square variable with one degree of freedom is below 1.
const ONE_SIGMA: f64 = 0.682_689_492_137_085_9;
/// Probability that a chi-square variable with one degree of freedom is below 4.
const TWO_SIGMA: f64 = 0.954_499_736_103_641_6;

impl ScanInterval {
    /// Creates an interval without crossings, with the same reason on both sides.
    pub(super) fn new(height: ContourLevel, reason: &str) -> Self {
        let reason = Some(reason.to_owned());
        Self {
            level: height.twice_delta_nll,
            confidence_level: height.confidence_level,
            lower: None,
            upper: None,
            lower_reason: reason.clone(),
            upper_reason: reason,
        }
    }

    /// Stores the crossing on one side of the best fit, or the reason why there is no crossing. The side is the lower
    /// one if `direction` is negative.
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

/// A level of `twice_delta_nll` (the rise of `-2 ln L` above its minimum) for a contour in two parameters or an
/// interval in one, and its confidence level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct ContourLevel {
    /// Confidence level: the probability for large samples that the contour contains the true values.
    pub confidence_level: f64,
    /// Level of `twice_delta_nll`: the quantile of chi2 with one degree of freedom per parameter. In two parameters it is
    /// `-2 ln(1 - confidence_level)`.
    pub twice_delta_nll: f64,
}

impl ContourLevel {
    /// Returns the two levels that are usual in particle physics: 2.30 for a confidence level of 68.27 %, and 5.99
    /// for 95 %.
    #[must_use]
    pub fn usual() -> [Self; 2] {
        [ONE_SIGMA, 0.95].map(Self::in_two)
    }

    fn in_two(p: f64) -> Self {
        Self { confidence_level: p, twice_delta_nll: -2.0 * (-p).ln_1p() }
    }

    /// Returns the levels of a scan in one parameter, or in two if `in_two` is true, that have the confidence levels
    /// `asked`; the usual ones if there are none.
    ///
    /// # Errors
    /// [`InferenceError::ContourLevel`] for a number that is not between 0 and 1; [`InferenceError::NumberOfLevels`] for
    /// too many.
    pub(super) fn of(asked: &[f64], in_two: bool) -> Result<Vec<Self>, InferenceError> {
        if asked.len() > MOST_LEVELS {
            return Err(InferenceError::NumberOfLevels { n: asked.len(), most: MOST_LEVELS });
        }
        if let Some(&value) = asked.iter().find(|p| !(**p > 0.0 && **p < 1.0)) {
            return Err(InferenceError::ContourLevel { value });
        }
        let in_one = |p: f64| Self { confidence_level: p, twice_delta_nll: quantile(0.5 - 0.5 * p).powi(2) };
        Ok(match (asked, in_two) {
            ([], true) => Self::usual().to_vec(),
            ([], false) => [(ONE_SIGMA, 1.0), (TWO_SIGMA, 4.0)]
                .map(|(confidence_level, twice_delta_nll)| Self { confidence_level, twice_delta_nll })
                .to_vec(),
            (asked, true) => asked.iter().map(|p| Self::in_two(*p)).collect(),
            (asked, false) => asked.iter().map(|p| in_one(*p)).collect(),
        })
    }
}

/// The second parameter of a scan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SecondAxis {
    /// Full name of the parameter.
    pub param: String,
    /// Scanned values of the parameter, in the order of the request.
    pub mu_values: Vec<f64>,
    /// Best-fit value of the parameter.
    pub mu_hat: f64,
    /// Uncertainty of the parameter from the Hessian at the best fit; `None` if it does not exist.
    pub uncertainty: Option<f64>,
}

/// A profile likelihood scan. Serialises to the JSON of `nextstat scan`. A number that does not exist is `null` in
/// this JSON, and a warning gives the reason.
///
/// Lists with one number per point are flat. If the first parameter has `n` values, point `k` is at value `k % n` of
/// the first parameter and at value `k / n` of the second parameter. In the JSON of a scan in two parameters, these
/// lists become lists of rows, with one row for each value of the second parameter.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct ScanResult {
    /// Full name of the first scanned parameter.
    pub param: String,
    /// Scanned values of the first parameter, in the order of the request.
    pub mu_values: Vec<f64>,
    /// The second scanned parameter; `None` for a scan in one parameter.
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub second: Option<SecondAxis>,
    /// Profile at each point: `-2 ln L`, minimised over all other parameters, minus `-2 ln L` at the best fit. `None`
    /// if the point has no value.
    pub twice_delta_nll: Vec<Option<f64>>,
    /// One-sided test statistic at each point. It equals `twice_delta_nll` at values above the best fit, and 0 below
    /// the best fit. Empty for a scan in two parameters.
    pub q_mu_values: Vec<Option<f64>>,
    /// Best-fit value of the first parameter.
    pub mu_hat: f64,
    /// Uncertainty of the first parameter from the Hessian at the best fit; `None` if it does not exist.
    pub uncertainty: Option<f64>,
    /// `-2 ln L` at the best fit.
    pub twice_nll: f64,
    /// For each point, whether its fit converged.
    pub converged: Vec<bool>,
    /// Whether the free fit converged. For Asimov data with events, their error is also small enough.
    pub bestfit_converged: bool,
    /// Estimated error of `twice_delta_nll` of Asimov data, which comes from the numerical integration of expected
    /// events. `None` if the data are not Asimov data with events.
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub asimov_error: Option<f64>,
    /// For each point, the reason why its fit failed or did not converge; `None` if the fit converged.
    pub reasons: Vec<Option<String>>,
    /// Levels of the contours of a scan in two parameters; empty for a scan in one.
    pub levels: Vec<ContourLevel>,
    /// Intervals between the values at which `twice_delta_nll` crosses the levels, by default 1 and 4. Empty for a scan in two
    /// parameters, for a scan with one point, and if intervals were not asked for.
    pub intervals: Vec<ScanInterval>,
    /// Number of iterations, summed over all fits.
    pub n_iter: usize,
    /// Warnings about the result.
    pub warnings: Vec<String>,
    /// Number of all fits, including the free fit and the fits for the intervals.
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub n_fits: usize,
    /// Whether the caller stopped the work after the best fit was found.
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub interrupted: bool,
}

impl ScanResult {
    /// Returns the number of points in each row of a scan in two parameters, i.e. the number of values of the first
    /// parameter. A scan in one parameter has one row.
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
        let mut map = serializer.serialize_struct("ScanResult", 17)?;
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
            map.serialize_field("levels", &self.levels)?;
            map.serialize_field("converged", &Rows(&self.converged, row))?;
            map.serialize_field("reasons", &Rows(&self.reasons, row))?;
        } else {
            map.serialize_field("intervals", &self.intervals)?;
            map.serialize_field("converged", &self.converged)?;
            map.serialize_field("reasons", &self.reasons)?;
        }
        map.serialize_field("twice_nll", &self.twice_nll)?;
        map.serialize_field("bestfit_converged", &self.bestfit_converged)?;
        if let Some(error) = self.asimov_error {
            map.serialize_field("asimov_error", &error)?;
        }
        map.serialize_field("n_iter", &self.n_iter)?;
        map.serialize_field("warnings", &self.warnings)?;
        map.end()
    }
}

/// Serialises a flat list as a list of rows. The second field is the number of entries in each row.
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
