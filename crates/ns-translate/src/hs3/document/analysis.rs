//! Analyses, domains and parameter points of a model file.

use super::Placed;

/// The range of one parameter in a domain.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DomainAxis {
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
}

/// The value of one parameter in a parameter point.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PointValue {
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) value: f64,
    pub(crate) constant: bool,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
    /// Uncertainty, which ROOT writes.
    pub(crate) error: Option<f64>,
}

/// An analysis: a likelihood and the roles of its parameters.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Analysis {
    pub(crate) likelihood: Placed<String>,
    pub(crate) interest: Vec<Placed<String>>,
    pub(crate) domains: Vec<Placed<String>>,
    pub(crate) init: Option<Placed<String>>,
    /// Names of the distributions that are constraint terms in addition to those of the likelihood.
    pub(crate) auxiliary: Vec<Placed<String>>,
}
