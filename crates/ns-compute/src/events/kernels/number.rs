//! Parameters of densities, each a constant or a variable.

use ns_core::Value;

/// A parameter of a density.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    Constant(f64),
    /// Index of a variable of the density.
    Variable(usize),
}

impl Number {
    /// Returns the number for a value, and appends it to the variables `seen` unless it is constant. Returns `None` if it
    /// is among them already: a kernel differentiates by each of its parameters alone.
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

    /// Returns the value, given those of all variables.
    pub(super) fn at(self, variables: &[f64]) -> f64 {
        match self {
            Self::Constant(x) => x,
            Self::Variable(v) => variables[v],
        }
    }

    /// Returns the index of the variable; `None` for a constant.
    pub(super) fn variable(self) -> Option<usize> {
        match self {
            Self::Constant(_) => None,
            Self::Variable(v) => Some(v),
        }
    }
}
