//! Functions of parameters.

use super::{Tape, Value};

/// A function of parameters and of earlier functions of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// Name of the function in the file.
    pub name: String,
    /// Formula of the function.
    pub form: FunctionForm,
}

/// Formula of a [`Function`].
#[derive(Debug, Clone, PartialEq)]
pub enum FunctionForm {
    /// Sum of the values; 0 if the list is empty.
    Sum(Vec<Value>),
    /// Product of the values; 1 if the list is empty.
    Product(Vec<Value>),
    /// Polynomial `sum_i coefficients[i] x^i`.
    Polynomial {
        /// Argument of the polynomial.
        x: Value,
        /// Coefficients; the first belongs to `x^0`.
        coefficients: Vec<Value>,
    },
    /// The number `nominal`, changed by each variation in turn. Each variation depends on a nuisance
    /// parameter.
    Interpolation {
        /// The number at the value 0 of all nuisance parameters.
        nominal: f64,
        /// Effects of the nuisance parameters. They are applied one after the other.
        variations: Vec<InterpolationForm>,
        /// Whether a result that is not positive is replaced by the smallest positive normal number, as in RooFit's
        /// `FlexibleInterpVar`.
        positive: bool,
    },
    /// An expression of parameters and functions, without observables.
    Expression(Tape),
}

/// Effect of one nuisance parameter `alpha` on a number. Variations are applied one after the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InterpolationForm {
    /// The nuisance parameter `alpha`.
    pub alpha: Value,
    /// The number at `alpha = -1`.
    pub lo: f64,
    /// The number at `alpha = +1`.
    pub hi: f64,
    /// Code of the interpolation, numbered as in RooFit's `flexibleInterpSingle`:
    /// * 0 adds a piecewise linear function.
    /// * 1 multiplies by a piecewise exponential function.
    /// * 2 adds a parabola that continues linearly.
    /// * 4 adds a polynomial of degree 6 that continues linearly.
    /// * 5 multiplies by a polynomial of degree 6 that continues exponentially.
    /// * 6 multiplies by a polynomial of degree 6 that continues linearly.
    pub code: u8,
}

impl FunctionForm {
    /// Returns the constants, parameters and other functions that the function uses. One that is used several times
    /// occurs several times.
    #[must_use]
    pub fn values(&self) -> Vec<Value> {
        match self {
            Self::Sum(values) | Self::Product(values) => values.clone(),
            Self::Polynomial { x, coefficients } => {
                let mut values = vec![*x];
                values.extend_from_slice(coefficients);
                values
            }
            Self::Interpolation { variations, .. } => variations.iter().map(|v| v.alpha).collect(),
            Self::Expression(tape) => tape.values().collect(),
        }
    }
}
