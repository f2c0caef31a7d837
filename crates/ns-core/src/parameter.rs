//! Parameters of a model and their constraint terms.

use std::ops::Range;

/// The auxiliary measurement that constrains a parameter.
///
/// Conventions are pyhf's (`pyhf.constraints`): the auxiliary datum is data, not
/// part of the model, so toys and Asimov sets replace it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Constraint {
    /// Free: normfactor and shapefactor.
    None,
    /// Datum `a ~ N(theta, sigma)`: histosys, normsys (`sigma = 1`), lumi, staterror.
    Gaussian {
        /// Width of the auxiliary measurement.
        sigma: f64,
        /// Index of the datum in the auxiliary data.
        aux: usize,
    },
    /// Datum `a ~ Poisson(tau * theta)`: shapesys.
    Poisson {
        /// Scale between parameter and expected auxiliary count.
        tau: f64,
        /// Index of the datum in the auxiliary data.
        aux: usize,
    },
}

impl Constraint {
    /// Index of the auxiliary datum, if the parameter has one.
    #[must_use]
    pub fn aux(&self) -> Option<usize> {
        match *self {
            Self::None => None,
            Self::Gaussian { aux, .. } | Self::Poisson { aux, .. } => Some(aux),
        }
    }

    /// Pre-fit width: `sigma`, or `1/sqrt(tau)` for a Poisson term; `None` for a free parameter.
    #[must_use]
    pub fn prefit_sigma(&self) -> Option<f64> {
        match *self {
            Self::None => None,
            Self::Gaussian { sigma, .. } => Some(sigma),
            Self::Poisson { tau, .. } => Some(1.0 / tau.sqrt()),
        }
    }
}

/// One scalar parameter, as the optimiser sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// pyhf's name: `mu`, or `gamma[3]` for an element of a vector.
    pub name: String,
    /// Suggested start value, and the value of the parameter when it is fixed.
    pub init: f64,
    /// Lower and upper bound.
    pub bounds: (f64, f64),
    /// Held at `init` in every fit unless a task says otherwise.
    pub fixed: bool,
    /// Its auxiliary measurement.
    pub constraint: Constraint,
}

/// A named group of consecutive parameters (pyhf's "paramset").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterSet {
    /// Name shared by the modifiers that use it.
    pub name: String,
    /// Where its elements are in [`crate::Model::parameters`].
    pub range: Range<usize>,
    /// True for `name`, false for `name[i]`.
    pub scalar: bool,
}
