//! Constraint terms on functions of parameters.

use super::Value;
use crate::Correlations;

/// A quantity that a constraint term compares with the model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measured {
    /// A constant, a parameter or a function of parameters.
    Value(Value),
    /// The auxiliary datum with this index. Toys and Asimov data replace its value.
    Datum(usize),
}

/// A constraint term that is not a [`crate::Constraint`] of a single parameter, for example a constraint on a
/// function of parameters. The term adds the negative logarithm of its normalised density to `-ln L`.
#[derive(Debug, Clone, PartialEq)]
pub struct Penalty {
    /// Name of the term in the file.
    pub name: String,
    /// Density of the term.
    pub form: PenaltyForm,
}

/// Density of a [`Penalty`].
#[derive(Debug, Clone, PartialEq)]
pub enum PenaltyForm {
    /// Normal distribution of `x`.
    Gaussian {
        /// The quantity that follows the distribution.
        x: Value,
        /// Mean.
        mean: Measured,
        /// Standard deviation.
        sigma: Value,
    },
    /// Poisson distribution of `count`. The count may be fractional, because its factorial is computed as
    /// `Gamma(count + 1)`.
    Poisson {
        /// The count that follows the distribution.
        count: Measured,
        /// Mean of the distribution, i.e. the expected count.
        mean: Value,
    },
    /// Log-normal distribution of `x`: `ln x` is normal.
    Lognormal {
        /// The quantity that follows the distribution; positive. The datum is `ln x`.
        x: Measured,
        /// Mean of `ln x`.
        mu: Measured,
        /// Standard deviation of `ln x`.
        sigma: Value,
    },
    /// Gamma distribution of `x` over `x > 0`: `rate^shape x^(shape - 1) exp(-rate x) / Gamma(shape)`.
    Gamma {
        /// The quantity that follows the distribution; positive.
        x: Value,
        /// Shape parameter of the distribution. The datum is a count, the shape minus 1: as a function of `x`, the term is
        /// that of a Poisson distribution of this count with the mean `rate x`.
        shape: Measured,
        /// Rate parameter of the distribution, i.e. 1 divided by the scale.
        rate: Value,
    },
    /// Correlations between the Gaussian constraints of parameters. The constraints themselves are those of the
    /// parameters.
    Correlated(Correlations),
}

impl PenaltyForm {
    /// Returns the constants, parameters and functions of parameters that the term uses.
    #[must_use]
    pub fn values(&self) -> Vec<Value> {
        let measured = |of: &Measured| match of {
            Measured::Value(value) => Some(*value),
            Measured::Datum(_) => None,
        };
        match self {
            Self::Gaussian { x, mean, sigma } => {
                [Some(*x), measured(mean), Some(*sigma)].into_iter().flatten().collect()
            }
            Self::Poisson { count, mean } => [measured(count), Some(*mean)].into_iter().flatten().collect(),
            Self::Lognormal { x, mu, sigma } => {
                [measured(x), measured(mu), Some(*sigma)].into_iter().flatten().collect()
            }
            Self::Gamma { x, shape, rate } => {
                [Some(*x), measured(shape), Some(*rate)].into_iter().flatten().collect()
            }
            Self::Correlated(own) => own.parameters().iter().map(|p| Value::Parameter(*p)).collect(),
        }
    }

    /// Returns the correlations of a [`PenaltyForm::Correlated`]; `None` for other terms.
    #[must_use]
    pub fn correlations(&self) -> Option<&Correlations> {
        match self {
            Self::Correlated(own) => Some(own),
            _ => None,
        }
    }

    /// Returns the index of the auxiliary datum that the term uses, if there is one. Correlations use the data of the
    /// parameters' constraints and have none of their own.
    #[must_use]
    pub fn datum(&self) -> Option<usize> {
        match self {
            Self::Gaussian { mean: Measured::Datum(datum), .. }
            | Self::Poisson { count: Measured::Datum(datum), .. }
            | Self::Lognormal { x: Measured::Datum(datum), .. }
            | Self::Lognormal { mu: Measured::Datum(datum), .. }
            | Self::Gamma { shape: Measured::Datum(datum), .. } => Some(*datum),
            _ => None,
        }
    }

    /// Returns the index of the auxiliary datum that the term uses, so that it can be changed.
    pub fn datum_mut(&mut self) -> Option<&mut usize> {
        match self {
            Self::Gaussian { mean: Measured::Datum(datum), .. }
            | Self::Poisson { count: Measured::Datum(datum), .. }
            | Self::Lognormal { x: Measured::Datum(datum), .. }
            | Self::Lognormal { mu: Measured::Datum(datum), .. }
            | Self::Gamma { shape: Measured::Datum(datum), .. } => Some(datum),
            _ => None,
        }
    }
}
