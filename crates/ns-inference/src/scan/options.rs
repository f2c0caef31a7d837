//! The options of a scan.

use serde::Deserialize;

use crate::{FitOptions, options};

/// Points along one parameter.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ScanAxis {
    /// Full name of the parameter; the parameter of interest if `None`.
    pub param: Option<String>,
    /// First point; `None`: the default number of uncertainties below the best fit, or the lower bound.
    pub start: Option<f64>,
    /// Last point; `None`: the default number of uncertainties above the best fit, or the upper bound.
    pub stop: Option<f64>,
    /// Number of equidistant points from `start` to `stop`.
    pub points: usize,
    /// The points themselves, in any order, instead of a range.
    pub values: Option<Vec<f64>>,
}

impl Default for ScanAxis {
    fn default() -> Self {
        Self { param: None, start: None, stop: None, points: 21, values: None }
    }
}

options::setters! { ScanAxis {
    points: usize
} }

impl ScanAxis {
    /// The axis of a parameter.
    #[must_use]
    pub fn param(name: impl Into<String>) -> Self {
        Self { param: Some(name.into()), ..Self::default() }
    }

    /// Sets the first and the last point; `None` stands for the default of that end.
    #[must_use]
    pub fn range(mut self, start: impl Into<Option<f64>>, stop: impl Into<Option<f64>>) -> Self {
        (self.start, self.stop) = (start.into(), stop.into());
        self
    }

    /// Scans exactly these values.
    #[must_use]
    pub fn values(mut self, values: Vec<f64>) -> Self {
        self.values = Some(values);
        self
    }
}

/// Options of [`scan`](crate::scan()), built step by step; the default is a scan of the parameter of interest
/// over three uncertainties on either side of its best fit.
///
/// ```
/// use ns_inference::{ScanAxis, ScanOptions};
/// let options = ScanOptions::new(ScanAxis::param("mu").range(0.0, 2.0).points(41));
/// # assert_eq!(options.first.points, 41);
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ScanOptions {
    /// The free fit that the scan varies: data, fixed parameters, start, search.
    pub fit: FitOptions,
    /// The (first) scanned parameter.
    pub first: ScanAxis,
    /// The second one of a scan in two parameters.
    pub second: Option<ScanAxis>,
    /// Find where twice_delta_nll of a scan in one parameter crosses 1 and 4.
    pub intervals: bool,
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self { fit: FitOptions::default(), first: ScanAxis::default(), second: None, intervals: true }
    }
}

options::setters! { ScanOptions {
    fit: FitOptions, intervals: bool
} }

impl ScanOptions {
    /// A scan in one parameter.
    #[must_use]
    pub fn new(axis: ScanAxis) -> Self {
        Self { first: axis, ..Self::default() }
    }

    /// Adds the second parameter.
    #[must_use]
    pub fn second(mut self, axis: ScanAxis) -> Self {
        self.second = Some(axis);
        self
    }
}
