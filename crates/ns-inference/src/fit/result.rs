//! The named result of one fit.

use ns_core::Covariance;
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::minos::Interval;
use crate::options::pairs;

/// Best fit with its evidence. Serialises to the JSON of `nextstat fit`; a number that does not
/// exist is `null`, and a warning says why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FitResult {
    /// Names of all parameters, in pyhf's order; every array below follows it.
    pub parameter_names: Vec<String>,
    /// Values at the minimum.
    pub bestfit: Vec<f64>,
    /// Uncertainties from the exact Hessian; `None` for fixed parameters, at bounds, on kinks and
    /// along flat directions.
    pub uncertainties: Vec<Option<f64>>,
    /// Covariance matrix, conditional on what is held: rows of fixed parameters and of those at a
    /// bound or on a kink are zero, rows of flat directions are `null`. `None` if not asked for.
    #[serde(serialize_with = "rows", skip_deserializing)]
    pub covariance: Option<Covariance>,
    /// `-ln L` at the minimum, all constants included.
    pub nll: f64,
    /// Twice that: `-2` times pyhf's `logpdf`.
    pub twice_nll: f64,
    /// Index of the parameter of interest.
    pub poi_index: Option<usize>,
    /// Whether the certificate of a minimum holds.
    pub converged: bool,
    /// Estimated distance to the minimum, in NLL units.
    pub edm: Option<f64>,
    /// Iterations, over all starts.
    pub n_iter: usize,
    /// Parameters that a bound holds.
    pub at_bound: Vec<String>,
    /// Parameters that sit on the kink of a piecewise interpolation.
    pub at_kink: Vec<String>,
    /// Parameters without effect, or that the data determine only in combination with others: they have no uncertainty.
    pub flat: Vec<String>,
    /// Parameters held fixed, by the model or by the caller.
    pub fixed: Vec<String>,
    /// Why the fit stopped, in words.
    pub termination_reason: String,
    /// MINOS intervals of the parameters asked for.
    #[serde(serialize_with = "by_name", deserialize_with = "named")]
    pub minos: Vec<Interval>,
    /// The same for parameters at a bound or on a kink, which have no symmetric uncertainty.
    #[serde(serialize_with = "by_name", deserialize_with = "named")]
    pub crossings: Vec<Interval>,
    /// Warnings about the result.
    pub warnings: Vec<String>,
    /// Evaluations of the likelihood, over all starts.
    #[serde(skip)]
    pub n_evaluations: usize,
    /// `(bestfit - auxiliary datum) / pre-fit width` of constrained parameters, for tables.
    #[serde(skip)]
    pub pulls: Vec<Option<f64>>,
    /// True if the caller stopped the work after the minimum was found.
    #[serde(skip)]
    pub interrupted: bool,
}

impl FitResult {
    /// Index of a parameter by name.
    #[must_use]
    pub fn index(&self, name: &str) -> Option<usize> {
        self.parameter_names.iter().position(|n| n == name)
    }

    /// Best-fit value of a parameter by name.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<f64> {
        self.bestfit.get(self.index(name)?).copied()
    }

    /// Uncertainty of a parameter by name.
    #[must_use]
    pub fn uncertainty(&self, name: &str) -> Option<f64> {
        self.uncertainties.get(self.index(name)?).copied().flatten()
    }
}

/// The matrix as a list of rows; NaN, which marks flat directions, as `null`.
fn rows<S: Serializer>(matrix: &Option<Covariance>, serializer: S) -> Result<S::Ok, S::Error> {
    let Some(matrix) = matrix else { return serializer.serialize_none() };
    let mut list = serializer.serialize_seq(Some(matrix.n))?;
    for row in matrix.values.chunks(matrix.n.max(1)) {
        list.serialize_element(row)?;
    }
    list.end()
}

/// Intervals as an object from parameter name to interval, in order.
fn by_name<S: Serializer>(intervals: &[Interval], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(intervals.iter().map(|interval| (&interval.parameter, interval)))
}

/// What [`by_name`] wrote.
fn named<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Interval>, D::Error> {
    let named = pairs::<D, Interval>(from)?;
    Ok(named.into_iter().map(|(parameter, interval)| Interval { parameter, ..interval }).collect())
}
