//! The result of a spurious-signal test.

use serde::{Deserialize, Serialize};

/// The spurious signal at one place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct SpuriousPeak {
    /// The place.
    pub place: f64,
    /// Fitted strength of the signal.
    pub strength: f64,
    /// Its uncertainty, with as many events as the background expects.
    pub uncertainty: f64,
    /// `strength / uncertainty`.
    pub ratio: f64,
}

/// The spurious signals with one background.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct SpuriousBackground {
    /// Name of the background.
    pub name: String,
    /// Number of events that the background expects.
    pub n_events: f64,
    /// Fitted strength of the signal at each place; `None` where the fit failed or did not converge.
    pub strength: Vec<Option<f64>>,
    /// Uncertainty of the strength at each place; `None` where there is none.
    pub uncertainty: Vec<Option<f64>>,
    /// The place with the largest size of the strength; `None` if no place has a value.
    pub largest: Option<SpuriousPeak>,
    /// The place with the largest size of the ratio of strength and uncertainty.
    pub largest_ratio: Option<SpuriousPeak>,
}

/// The result of a spurious-signal test. Serialises to the JSON of `nextstat spurious-signal`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct SpuriousResult {
    /// Name of the parameter of interest, the strength of the signal.
    pub poi: String,
    /// Name of the parameter that says where the signal is.
    pub param: String,
    /// Tested places, in ascending order.
    pub places: Vec<f64>,
    /// The backgrounds, in the given order.
    pub backgrounds: Vec<SpuriousBackground>,
    /// Largest size of the strength at any place with any background: the spurious signal.
    pub spurious_signal: Option<f64>,
    /// Largest size of the ratio of strength and uncertainty.
    pub largest_ratio: Option<f64>,
    /// Largest accepted ratio.
    pub limit: f64,
    /// Whether the largest ratio is at most `limit`; `None` if there is no ratio.
    pub passed: Option<bool>,
    /// Whether all fits converged.
    pub converged: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
}
