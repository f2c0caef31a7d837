//! Parameters of a model and their constraint terms.

use std::ops::Range;

/// The auxiliary measurement that constrains a parameter.
///
/// The conventions are those of pyhf (`pyhf.constraints`): the auxiliary datum belongs to the data, not to
/// the model, so that toys and Asimov data replace it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Constraint {
    /// No constraint: the parameter of a normfactor or shapefactor is free.
    None,
    /// A Gaussian constraint. The auxiliary datum `a` has a normal distribution around the parameter `theta`:
    /// `a ~ N(theta, sigma)`. The parameters of histosys and normsys (both with `sigma = 1`), lumi and staterror have
    /// such a constraint.
    Gaussian {
        /// Standard deviation of the auxiliary measurement.
        sigma: f64,
        /// Index of the datum in the auxiliary data.
        aux: usize,
    },
    /// The parameter `theta` of a shapesys has an auxiliary datum `a` with a Poisson distribution:
    /// `a ~ Poisson(tau * theta)`.
    Poisson {
        /// Ratio of the expected auxiliary count to the value of the parameter.
        tau: f64,
        /// Index of the datum in the auxiliary data.
        aux: usize,
    },
}

impl Constraint {
    /// Returns the index of the auxiliary datum; `None` for a parameter without a constraint.
    #[must_use]
    pub fn aux(&self) -> Option<usize> {
        match *self {
            Self::None => None,
            Self::Gaussian { aux, .. } | Self::Poisson { aux, .. } => Some(aux),
        }
    }

    /// Returns the uncertainty of the parameter before the fit: `sigma`, or `1/sqrt(tau)` for a Poisson
    /// constraint. `None` without a constraint.
    #[must_use]
    pub fn prefit_sigma(&self) -> Option<f64> {
        match *self {
            Self::None => None,
            Self::Gaussian { sigma, .. } => Some(sigma),
            Self::Poisson { tau, .. } => Some(1.0 / tau.sqrt()),
        }
    }
}

/// One scalar parameter of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Name as in pyhf: `mu`, or `gamma[3]` for an element of a vector.
    pub name: String,
    /// Suggested start value, and the value of the parameter when it is fixed.
    pub init: f64,
    /// Lower and upper bound.
    pub bounds: (f64, f64),
    /// Whether the model fixes the parameter at `init`. A fit can release the parameter or fix it at another
    /// value.
    pub fixed: bool,
    /// The auxiliary measurement that constrains the parameter.
    pub constraint: Constraint,
}

/// A named group of consecutive parameters (pyhf's "paramset").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterSet {
    /// Name of the set, which is also the name of the modifiers that use it.
    pub name: String,
    /// Indices of the set's parameters in [`crate::Model::parameters`].
    pub range: Range<usize>,
    /// Whether the set is a single parameter called `name`. Otherwise its parameters are called `name[i]`.
    pub scalar: bool,
}
