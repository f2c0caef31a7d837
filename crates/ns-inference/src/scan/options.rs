//! The options of a scan.

use serde::Deserialize;

use crate::{FitOptions, Work, options};

/// The points of a scan along one parameter. In a scan in two parameters, there is one axis per parameter.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ScanAxis {
    /// Full name of the parameter; the parameter of interest if `None`.
    pub param: Option<String>,
    /// First point. `None` means 3 uncertainties below the best fit (in a scan in two parameters, beyond the contour of 95 %), or the lower
    /// bound if it is higher.
    pub start: Option<f64>,
    /// Last point. `None` means 3 uncertainties above the best fit (in a scan in two parameters, beyond the contour of 95 %), or the upper
    /// bound if it is lower.
    pub stop: Option<f64>,
    /// Number of points. They are equidistant from `start` to `stop`.
    pub points: usize,
    /// Explicit points, in any order. If they are given, `start`, `stop` and `points` have no effect.
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
    /// Creates the axis of the parameter `name`, with the default range.
    #[must_use]
    pub fn param(name: impl Into<String>) -> Self {
        Self { param: Some(name.into()), ..Self::default() }
    }

    /// Sets the first and the last point. `None` means the default of this point.
    #[must_use]
    pub fn range(mut self, start: impl Into<Option<f64>>, stop: impl Into<Option<f64>>) -> Self {
        (self.start, self.stop) = (start.into(), stop.into());
        self
    }

    /// Sets explicit points. `start`, `stop` and `points` then have no effect.
    #[must_use]
    pub fn values(mut self, values: Vec<f64>) -> Self {
        self.values = Some(values);
        self
    }
}

/// Options of [`scan`](crate::scan()), set by chained methods. The default is a scan of the parameter of interest,
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
    /// Options of all fits: data, fixed parameters, starting point, search.
    pub fit: FitOptions,
    /// Axis of the first scanned parameter.
    pub first: ScanAxis,
    /// Axis of the second scanned parameter; `None` for a scan in one parameter.
    pub second: Option<ScanAxis>,
    /// Whether to find the values at which `twice_delta_nll` crosses 1 and 4. It has an effect only for a scan in one
    /// parameter.
    pub intervals: bool,
    /// Confidence levels of contours, or of intervals in one parameter, between 0 and 1. If the list is empty, contours
    /// have 68.27 % and 95 %, and intervals are those at which `twice_delta_nll` is 1 and 4.
    pub levels: Vec<f64>,
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self {
            fit: FitOptions::default(),
            first: ScanAxis::default(),
            second: None,
            intervals: true,
            levels: Vec::new(),
        }
    }
}

options::setters! { ScanOptions {
    fit: FitOptions, intervals: bool
} }

impl ScanOptions {
    /// Creates the options of a scan in one parameter.
    #[must_use]
    pub fn new(axis: ScanAxis) -> Self {
        Self { first: axis, ..Self::default() }
    }
    /// Returns the number of fits of the scan. The choice of the device depends on it.
    #[must_use]
    pub fn work(&self) -> Work {
        let points = |axis: &ScanAxis| axis.values.as_ref().map_or(axis.points, Vec::len) as u64;
        let second = self.second.as_ref().map_or(1, points);
        Work::Scan { points: points(&self.first).saturating_mul(second) }
    }

    /// Sets the confidence levels of contours or intervals.
    #[must_use]
    pub fn levels(mut self, levels: Vec<f64>) -> Self {
        self.levels = levels;
        self
    }

    /// Adds the axis of the second scanned parameter.
    #[must_use]
    pub fn second(mut self, axis: ScanAxis) -> Self {
        self.second = Some(axis);
        self
    }
}
