//! The result of one fit, with the names of its parameters.

use std::path::Path;

use ns_core::Covariance;
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::interest::PoiCorrelation;
use crate::context_gradient::ContextGradient;
use crate::derived::Derived;
use crate::minos::Interval;
use crate::options::{WeightedUncertainties, pairs};

/// Largest number of parameters for which the JSON of a fit contains the covariance matrix.
pub const MOST_WITH_COVARIANCE: usize = 500;

/// The error of an integral over the density of a process, computed by numerical integration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct IntegralErrorOf {
    /// Estimated error, as a fraction of the integral. `None` if the error is not known.
    pub relative: Option<f64>,
    /// Name of the event channel.
    pub channel: String,
    /// Name of the process whose density is integrated.
    pub process: String,
}

/// The best fit, and whether it is certified to be a minimum. Serialises to the JSON of `nextstat fit`. A number that
/// does not exist is `null` in this JSON, and a warning gives the reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct FitResult {
    /// Names of all parameters, in pyhf's order. Lists with one number per parameter have the same order.
    pub parameter_names: Vec<String>,
    /// Values of the parameters at the minimum.
    pub bestfit: Vec<f64>,
    /// Uncertainties of the parameters, from the exact Hessian. If events have weights, the method in
    /// `weighted_uncertainties` is used instead. `None` for fixed parameters, and for parameters at a bound, on a kink
    /// of an interpolation, or along a direction in which `-ln L` is flat.
    pub uncertainties: Vec<Option<f64>>,
    /// Pull of each parameter: `(bestfit - auxiliary datum) / pre-fit width`. The datum of a Poisson constraint is
    /// first divided by its rate `tau`. `None` for fixed and unconstrained parameters.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required = true))]
    pub pulls: Vec<Option<f64>>,
    /// Ratio of the uncertainty of each parameter to its pre-fit width. `None` without one of them.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required = true))]
    pub constraints: Vec<Option<f64>>,
    /// Covariance matrix of the parameters; `None` if not asked for. The rows and columns of fixed parameters, and
    /// of parameters at a bound or on a kink of an interpolation, are zero. The covariances of all other parameters
    /// apply while these parameters stay at their values. A kink where the slopes on both sides vanish is an
    /// exception: there the mean of the curvatures on both sides gives the covariance. The rows and columns of flat
    /// parameters, which the data do not determine, are NaN. NaN is `null` in JSON.
    #[serde(default, serialize_with = "rows", deserialize_with = "matrix")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<Vec<Vec<Option<f64>>>>))]
    pub covariance: Option<Covariance>,
    /// Method by which uncertainties and covariance were computed if events have weights; `None` if events have no
    /// weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub weighted_uncertainties: Option<WeightedUncertainties>,
    /// Methods by which derivatives were computed with respect to the contexts of flows, i.e. the inputs on which the
    /// density of a flow depends in addition to its observables. Empty if no flow has a context.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context_gradients: Vec<ContextGradient>,
    /// `-ln L` at the minimum, including all constants.
    pub nll: f64,
    /// Twice `nll`, which is `-2` times pyhf's `logpdf`.
    pub twice_nll: f64,
    /// Index of the first parameter of interest; `None` if the model has none.
    pub poi_index: Option<usize>,
    /// Correlations of the parameters of interest; `None` if there are fewer than two, or without uncertainties.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub poi_correlation: Option<PoiCorrelation>,
    /// Whether the best fit is certified to be a minimum.
    pub converged: bool,
    /// Estimated error of differences of `twice_nll` of Asimov data, which comes from the numerical integration of
    /// expected events. `None` if the data are not Asimov data with events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub asimov_error: Option<f64>,
    /// Estimated distance to the minimum (EDM): `-ln L` at the best fit minus the estimated minimum of `-ln L`.
    /// `None` if the curvature allows no estimate.
    pub edm: Option<f64>,
    /// The largest relative error of the integrals in `-ln L` at the best fit. `None` if all of them have closed
    /// forms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub integral_error: Option<IntegralErrorOf>,
    /// Number of iterations of the first descent and of the checks at the minimum.
    pub n_iter: usize,
    /// Number of iterations of all descents in search of lower minima.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(required = true))]
    pub n_search_iter: usize,
    /// Names of the parameters whose best fit is at one of their bounds.
    pub at_bound: Vec<String>,
    /// Names of the parameters whose best fit is on a kink of a piecewise interpolation.
    pub at_kink: Vec<String>,
    /// Names of the flat parameters, which have no uncertainty. They have no effect, or the data determine them only
    /// in combination with other parameters.
    pub flat: Vec<String>,
    /// Names of the parameters fixed by the model or by the caller.
    pub fixed: Vec<String>,
    /// Sentence with the reason why the fit stopped.
    pub termination_reason: String,
    /// MINOS intervals of the requested parameters.
    #[serde(serialize_with = "by_name", deserialize_with = "named")]
    #[cfg_attr(feature = "schema", schema(value_type = std::collections::BTreeMap<String, Interval>))]
    pub minos: Vec<Interval>,
    /// MINOS intervals of the parameters at a bound or on a kink of an interpolation, which have no symmetric
    /// uncertainty.
    #[serde(serialize_with = "by_name", deserialize_with = "named")]
    #[cfg_attr(feature = "schema", schema(value_type = std::collections::BTreeMap<String, Interval>))]
    pub crossings: Vec<Interval>,
    /// Derived quantities: functions of parameters. Absent from the JSON if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derived: Vec<Derived>,
    /// Warnings about the result.
    pub warnings: Vec<String>,
    /// Number of evaluations of the likelihood, summed over all starting points.
    #[serde(skip)]
    pub n_evaluations: usize,
    /// Whether the caller stopped the work after the minimum was found.
    #[serde(skip)]
    pub interrupted: bool,
}

impl FitResult {
    /// If there are more than [`MOST_WITH_COVARIANCE`] parameters, removes the covariance matrix from the result, adds
    /// a warning, and returns the matrix. Otherwise returns `None`. `file` is the file to which the caller writes the
    /// matrix, for the text of the warning.
    pub fn take_large_covariance(&mut self, file: Option<&Path>) -> Option<Covariance> {
        if self.parameter_names.len() <= MOST_WITH_COVARIANCE {
            return None;
        }
        self.warnings.push(match file {
            Some(path) => format!("covariance is null: it is in {}", path.display()),
            None => format!(
                "covariance is null: with more than {MOST_WITH_COVARIANCE} parameters only the command line writes it, to a file of its own \
                 (--covariance FILE)"
            ),
        });
        self.covariance.take()
    }

    /// Returns the index of the parameter `name`; `None` if there is no such parameter.
    #[must_use]
    pub fn index(&self, name: &str) -> Option<usize> {
        self.parameter_names.iter().position(|n| n == name)
    }

    /// Returns the best-fit value of the parameter `name`; `None` if there is no such parameter.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<f64> {
        self.bestfit.get(self.index(name)?).copied()
    }

    /// Returns the uncertainty of the parameter `name`; `None` if there is no such parameter, or if it has no
    /// uncertainty.
    #[must_use]
    pub fn uncertainty(&self, name: &str) -> Option<f64> {
        self.uncertainties.get(self.index(name)?).copied().flatten()
    }
}

/// Serialises a covariance matrix as a list of rows. The elements of flat parameters, which the data do not determine,
/// are NaN and become `null` in JSON.
fn rows<S: Serializer>(matrix: &Option<Covariance>, serializer: S) -> Result<S::Ok, S::Error> {
    let Some(matrix) = matrix else { return serializer.serialize_none() };
    let mut list = serializer.serialize_seq(Some(matrix.n))?;
    for row in matrix.values.chunks(matrix.n.max(1)) {
        list.serialize_element(row)?;
    }
    list.end()
}

/// Deserialises the matrix that [`rows`] serialised. Null elements become NaN.
fn matrix<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Covariance>, D::Error> {
    let Some(rows) = Option::<Vec<Vec<Option<f64>>>>::deserialize(from)? else { return Ok(None) };
    let n = rows.len();
    if let Some(row) = rows.iter().find(|row| row.len() != n) {
        return Err(serde::de::Error::custom(format!(
            "the covariance has {n} rows, and one of them has {} numbers",
            row.len()
        )));
    }
    let values = rows.into_iter().flatten().map(|value| value.unwrap_or(f64::NAN)).collect();
    Ok(Some(Covariance { n, values }))
}

/// Serialises intervals as an object whose keys are the names of the parameters, in the order of the list.
fn by_name<S: Serializer>(intervals: &[Interval], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(intervals.iter().map(|interval| (&interval.parameter, interval)))
}

/// Deserialises the intervals that [`by_name`] serialised.
fn named<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Interval>, D::Error> {
    let named = pairs::<D, Interval>(from)?;
    Ok(named.into_iter().map(|(parameter, interval)| Interval { parameter, ..interval }).collect())
}
