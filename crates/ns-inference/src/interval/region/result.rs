//! The result of a confidence region.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::toy_nuisance::ToyNuisance;

/// A point that was tested with toys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct RegionPoint {
    /// Tested values of the two parameters.
    pub at: [f64; 2],
    /// Observed statistic: `-2 ln L` of the fit with both parameters held minus that of the free fit.
    pub t: f64,
    /// Fraction of the converged toys with a statistic of at least `t`; `None` if no toy converged.
    pub p_value: Option<f64>,
    /// Binomial error of `p_value`.
    pub p_value_error: Option<f64>,
    /// The p-value by the chi2 law with two degrees of freedom.
    pub p_value_asymptotic: f64,
    /// Number of toys that were run.
    pub n_toys: u64,
    /// Number of toys that are left out because a fit did not converge.
    pub n_nonconverged: u64,
    /// Number of toys that are left out because a fit failed.
    pub n_error: u64,
}

/// The border of a region in one direction from the best fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct BorderPoint {
    /// Angle of the direction in radians, in coordinates in which the covariance of the parameters is a circle.
    pub angle: f64,
    /// Values of the two parameters on the border; `None` if the border was not found.
    pub at: Option<[f64; 2]>,
    /// Error of `at` along the direction, in units of the parameters. It comes from the number of toys and from the distance
    /// between tested points. It is 0 at a bound of a parameter, and `None` without toys.
    pub error: Option<[f64; 2]>,
    /// The length of `error` divided by the distance from the best fit to the border of the chi2 law.
    pub relative_error: Option<f64>,
    /// Whether the region goes to a bound of a parameter here.
    pub at_bound: bool,
    /// Why the border was not found; `None` if it was.
    pub reason: Option<String>,
    /// The border of the chi2 law; `None` if it was not found.
    pub asymptotic: Option<[f64; 2]>,
}

/// The result of a confidence region. Serialises to the JSON of `nextstat region`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct RegionResult {
    /// Names of the two parameters.
    pub params: [String; 2],
    /// Name of the method: "feldman-cousins" with toys, "likelihood" without.
    pub method: Cow<'static, str>,
    /// The nuisance parameters at which the toys were drawn; `None` without toys.
    #[serde(default)]
    pub nuisance: Option<ToyNuisance>,
    /// Confidence level.
    pub cl: f64,
    /// Best-fit values of the two parameters.
    pub best_fit: [f64; 2],
    /// Rise of `-2 ln L` at the border of the chi2 law.
    pub level: f64,
    /// The border, by increasing angle. The region is the polygon of these points.
    pub border: Vec<BorderPoint>,
    /// Estimated largest distance between the border and the straight lines that join its points, in units of
    /// `relative_error`. A corner of the bounds that may be cut off counts. `None` if it cannot be estimated, such as next to a
    /// direction in which the border was not found.
    pub spacing_error: Option<f64>,
    /// Whether in each direction the tested points inside the region are all next to each other. If not, the border is
    /// that of the outermost point inside. `None` without toys.
    pub connected: Option<bool>,
    /// The points that were tested with toys; empty without toys.
    pub points: Vec<RegionPoint>,
    /// Largest accepted `relative_error` and `spacing_error`.
    pub accepted_error: f64,
    /// Number of toys of all tested points, with those of an earlier run.
    pub n_toys: u64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Number of toys per second of wall time; `None` if no toy was run.
    pub toys_per_s: Option<f64>,
    /// Whether the fits of the data converged and the border is known well enough in all directions and between them.
    pub converged: bool,
    /// Whether the caller stopped the work.
    pub interrupted: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
}
