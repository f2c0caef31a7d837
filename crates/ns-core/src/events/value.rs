//! A number in an event-level model. It is a constant, a parameter or a function of parameters.

/// The value of a rate, a coefficient or a parameter of a density.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A constant.
    Number(f64),
    /// The parameter with this index in [`crate::Model::parameters`].
    Parameter(usize),
    /// The function with this index in [`crate::Model::functions`].
    Function(usize),
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}
