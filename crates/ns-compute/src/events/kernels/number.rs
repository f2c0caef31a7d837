//! Parameters of densities. Each is either a constant or a variable.

use ns_core::Value;

/// A parameter of a density: a constant or a variable.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    Constant(f64),
    /// Index of a variable of the density.
    Variable(usize),
}

impl Number {
    /// Converts a value to a constant or a variable, and appends a variable to `seen`. Returns `None` if `seen` already
    /// contains this value. A kernel differentiates with respect to each parameter separately, so all variables must be
    /// different.
    pub(super) fn new(value: Value, seen: &mut Vec<Value>) -> Option<Self> {
        match value {
            Value::Number(x) => Some(Self::Constant(x)),
            variable if seen.contains(&variable) => None,
            variable => {
                seen.push(variable);
                Some(Self::Variable(seen.len() - 1))
            }
        }
    }

    /// Returns the number that the parameter stands for. `variables` contains the values of all variables of the
    /// density.
    pub(super) fn at(self, variables: &[f64]) -> f64 {
        match self {
            Self::Constant(x) => x,
            Self::Variable(v) => variables[v],
        }
    }

    /// Returns the index of the variable, or `None` for a constant.
    pub(super) fn variable(self) -> Option<usize> {
        match self {
            Self::Constant(_) => None,
            Self::Variable(v) => Some(v),
        }
    }
}
