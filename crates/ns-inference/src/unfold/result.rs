//! The result of unfolding.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::options::{Regularisation, ToysAt};
use crate::toys::unfold::UnfoldedBinToys;

/// A truth bin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct UnfoldedBin {
    /// Name of the factor.
    pub name: String,
    /// Unfolded factor, the ratio to the prediction.
    pub value: f64,
    /// Standard deviation of the unfolded factor in repeated measurements (from `covariance`); `None` at a bound.
    pub uncertainty: Option<f64>,
    /// Uncertainty from the curvature of the penalised likelihood (from `covariance_penalised`). Without a penalty both are
    /// the same.
    pub uncertainty_penalised: Option<f64>,
    /// Global correlation coefficient: the largest correlation of the factor with a linear combination of the other ones.
    pub global_correlation: Option<f64>,
    /// Estimated bias of the factor: the factor unfolded from the data that are expected at the unfolded factors, minus the
    /// unfolded factor.
    pub bias: Option<f64>,
    /// Predicted number of events.
    pub prediction: Option<f64>,
    /// Unfolded number of events.
    pub unfolded: Option<f64>,
    /// Uncertainty of the unfolded number of events.
    pub unfolded_uncertainty: Option<f64>,
    /// The factor in toys; `None` without toys.
    pub toys: Option<UnfoldedBinToys>,
}

/// A scanned strength of the penalty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct TauPoint {
    /// The strength.
    pub tau: f64,
    /// `-2 ln L` without the penalty, minus that of the saturated model; `None` for single events.
    pub chi2: Option<f64>,
    /// The squared roughness `|L (mu - 1)|^2`.
    pub roughness: f64,
    /// Curvature of the L-curve `(ln chi2, ln roughness)`.
    pub curvature: Option<f64>,
    /// Mean of the global correlation coefficients.
    pub mean_correlation: Option<f64>,
    /// Whether the fit converged.
    pub converged: bool,
}

/// A comparison of data with the prediction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct PredictionTest {
    /// The statistic.
    pub chi2: f64,
    /// Degrees of freedom.
    pub n_dof: i64,
    /// Probability of a statistic of at least `chi2` by the chi2 law; `None` without degrees of freedom.
    pub p_value: Option<f64>,
}

/// The bottom-line test (R. D. Cousins, S. J. May, Y. Sun, arXiv:1607.07038): unfolded data must not exclude a prediction more
/// strongly than the measured data do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct BottomLine {
    /// The data and the prediction: `-2 ln L` with all factors at 1, minus that of the saturated model.
    pub folded: Option<PredictionTest>,
    /// The unfolded factors and 1, with the inverse of `covariance`.
    pub unfolded: Option<PredictionTest>,
    /// Whether `chi2` of the unfolded factors is at most that of the data; `None` if one of them does not exist.
    pub passed: Option<bool>,
}

/// Numbers of toys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct UnfoldToys {
    /// Number of toys that were run.
    pub n_toys: u64,
    /// Number of toys that are left out because their fit did not converge or failed.
    pub n_left_out: u64,
    /// The point at which they were drawn.
    pub at: ToysAt,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Number of toys per second of wall time.
    pub toys_per_s: Option<f64>,
}

/// The result of unfolding. Serialises to the JSON of `nextstat unfold`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct UnfoldResult {
    /// The truth bins, in their order.
    pub truth: Vec<UnfoldedBin>,
    /// Title of the axis of truth bins; empty if unknown.
    pub title: String,
    /// Edges of the truth bins; empty if unknown.
    pub edges: Vec<f64>,
    /// The penalty.
    pub regularisation: Regularisation,
    /// Strength of the penalty; 0 without one.
    pub tau: f64,
    /// How the strength was found: "given", "l-curve", "correlation" or "none".
    pub tau_from: Cow<'static, str>,
    /// The scanned strengths; empty if the strength was given.
    pub scan: Vec<TauPoint>,
    /// Covariance of the unfolded factors in repeated measurements: `C - tau C L'L C` with the covariance `C` of the penalised
    /// likelihood. Rows of factors at a bound are 0.
    pub covariance: Vec<Vec<f64>>,
    /// Correlations, from `covariance`. Those of factors at a bound are 0.
    pub correlation: Vec<Vec<f64>>,
    /// Inverse of the second derivatives of the penalised `-ln L`.
    pub covariance_penalised: Vec<Vec<f64>>,
    /// Mean of the global correlation coefficients.
    pub mean_global_correlation: Option<f64>,
    /// `-2 ln L` of the data at the unfolded factors, without the penalty.
    pub twice_nll: f64,
    /// The same, minus that of the saturated model; `None` for single events.
    pub chi2: Option<f64>,
    /// The squared roughness `|L (mu - 1)|^2`.
    pub roughness: f64,
    /// The bottom-line test.
    pub bottom_line: BottomLine,
    /// Numbers of toys; `None` without toys.
    pub toys: Option<UnfoldToys>,
    /// Whether all fits of the data converged.
    pub converged: bool,
    /// Whether the caller stopped the work. Only finished toys are counted.
    pub interrupted: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
}
