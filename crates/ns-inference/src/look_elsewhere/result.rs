//! The result of a search at many places.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The result of a search for a signal at many places. Serialises to the JSON of `nextstat look-elsewhere`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct LookElsewhereResult {
    /// Name of the parameter of interest, the strength of the signal.
    pub poi: String,
    /// Name of the parameter that says where the signal is.
    pub param: String,
    /// Tested places, in ascending order.
    pub places: Vec<f64>,
    /// `q0` of the data at each place; `None` where the fit failed.
    pub q0: Vec<Option<f64>>,
    /// Best-fit strength of the signal at each place; `None` where the fit failed.
    pub strength: Vec<Option<f64>>,
    /// Place of the largest `q0`, fitted between the tested places.
    pub best_place: f64,
    /// The largest `q0`.
    pub q0_max: f64,
    /// Probability, without signal, of a `q0` of at least `q0_max` at one given place.
    pub p_local: f64,
    /// The same as standard deviations of a normal distribution, one-sided.
    pub z_local: f64,
    /// Value of `q0` whose crossings are counted.
    pub level: f64,
    /// Where the crossings were counted: "toys" or "data".
    pub counted_in: Cow<'static, str>,
    /// Mean number of places at which `q0` rises through `level`.
    pub n_crossings: f64,
    /// Error of `n_crossings` that comes from the number of toys, or from the one set of data.
    pub n_crossings_error: f64,
    /// Estimated number of crossings that the distance between the places hides. Fewer than 100 crossings are too few to
    /// count it; it then follows from the second differences of the square root of `q0`. If these are too few too, it is
    /// the number of crossings or its error, whichever is larger.
    pub n_hidden: f64,
    /// Error of `n_hidden`.
    pub n_hidden_error: f64,
    /// Probability, without signal, of a `q0` of at least `q0_max` anywhere among the places; at most 1.
    pub p_global: f64,
    /// Error of `p_global` that comes from the errors of the number of crossings.
    pub p_global_error: f64,
    /// `p_global` as standard deviations of a normal distribution, one-sided; `None` if `p_global` is 1.
    pub z_global: Option<f64>,
    /// `p_global / p_local`: by how much looking at many places makes a fluctuation more probable. `None` if it is not
    /// finite.
    pub trial_factor: Option<f64>,
    /// Error of `trial_factor`; `None` if it is not finite.
    pub trial_factor_error: Option<f64>,
    /// Fraction of the toys whose largest `q0` at the places is at least that of the data; `None` without toys.
    pub p_global_toys: Option<f64>,
    /// Binomial error of `p_global_toys`. If no toy is above, it is the upper end of the Clopper-Pearson interval of one
    /// standard deviation.
    pub p_global_toys_error: Option<f64>,
    /// Number of toys that were run.
    pub n_toys: u64,
    /// Number of toys that are left out because a fit did not converge.
    pub n_nonconverged: u64,
    /// Number of toys that are left out because a fit failed.
    pub n_error: u64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Number of toys per second of wall time; `None` if no toy was run.
    pub toys_per_s: Option<f64>,
    /// Estimated error of `-2 ln L` of Asimov data, which comes from the numerical integration of expected events. `None` for
    /// other data, and if the model has no event channels.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub asimov_error: Option<f64>,
    /// Whether the fits of the data converged, and the places are close enough to see the crossings.
    pub converged: bool,
    /// Whether the caller stopped the work.
    pub interrupted: bool,
    /// Warnings about the result.
    pub warnings: Vec<String>,
}
