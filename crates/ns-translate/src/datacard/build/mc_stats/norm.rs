//! The norm of a process: all its factors but those of its shape.

use ns_core::{Effect, Function, FunctionForm, Modifier, Op, Tape, Value, function_values};

use crate::datacard::build::Builder;
use crate::log_normal::{logarithm, push};

/// A factor of the norm of a process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Factor {
    /// A parameter or a function.
    Value(Value),
    /// A log-normal factor of a parameter, with its values at -1 and +1.
    LogNormal(usize, f64, f64),
}

impl Factor {
    /// Returns the modifier that multiplies a sample with the factor. Names are given by `name`.
    pub(super) fn modifier(self, name: impl Fn(usize) -> String) -> Modifier {
        match self {
            Self::LogNormal(first, lo, hi) => {
                Modifier { name: name(first), first, effect: Effect::NormSys { lo, hi } }
            }
            Self::Value(Value::Parameter(first)) => {
                Modifier { name: name(first), first, effect: Effect::NormFactor }
            }
            Self::Value(value) => {
                Modifier { name: String::new(), first: 0, effect: Effect::Function { values: vec![value] } }
            }
        }
    }
}

/// The values of all parameters and functions where Combine chooses the kinds of uncertainties.
pub(super) struct StartValues {
    parameters: Vec<f64>,
    functions: Vec<f64>,
}

impl StartValues {
    /// Returns the product of factors.
    pub(super) fn product(&self, factors: &[Factor]) -> f64 {
        let one = |factor: &Factor| match *factor {
            Factor::Value(Value::Number(x)) => x,
            Factor::Value(Value::Parameter(p)) => self.parameters.get(p).copied().unwrap_or(1.0),
            Factor::Value(Value::Function(f)) => self.functions.get(f).copied().unwrap_or(1.0),
            // Parameters of log-normal factors start at 0, or at the mean of a 'param' line.
            Factor::LogNormal(p, lo, hi) => {
                let mut ops = vec![Op::Value(Value::Parameter(p))];
                let log = logarithm(&mut ops, 0, lo.ln(), hi.ln());
                push(&mut ops, Op::Exp(log));
                let form = Tape::new(ops).ok().map(FunctionForm::Expression);
                let function = form.map(|form| Function { name: String::new(), form });
                function.and_then(|own| function_values(&[own], &self.parameters).pop()).unwrap_or(1.0)
            }
        };
        factors.iter().map(one).product()
    }
}

impl Builder<'_> {
    /// Returns the values of parameters and functions at the start of fits.
    pub(super) fn start_values(&self) -> StartValues {
        let parameters = self.parameters.start_values();
        let functions = function_values(&self.functions, &parameters);
        StartValues { parameters, functions }
    }

    /// Returns the factors of the norm of a column.
    pub(super) fn norm_of(&self, column: usize) -> Vec<Factor> {
        let Some(Some(cell)) = self.cells.get(column) else { return Vec::new() };
        let factor = |modifier: &Modifier| match &modifier.effect {
            Effect::NormSys { lo, hi } => Some(Factor::LogNormal(modifier.first, *lo, *hi)),
            Effect::NormFactor => Some(Factor::Value(Value::Parameter(modifier.first))),
            Effect::Function { values } => match values.as_slice() {
                [value] => Some(Factor::Value(*value)),
                _ => None,
            },
            _ => None,
        };
        cell.modifiers.iter().filter_map(factor).collect()
    }

    /// Returns whether a product of factors may be 0.
    pub(super) fn may_vanish(&self, factors: &[Factor]) -> bool {
        factors.iter().any(|factor| match factor {
            Factor::LogNormal(..) => false,
            Factor::Value(Value::Parameter(p)) => {
                self.parameters.get(*p).is_none_or(|entry| entry.bounds.0 <= 0.0 && entry.bounds.1 >= 0.0)
            }
            Factor::Value(_) => true,
        })
    }

    /// Adds a function: the product of factors, or with `squared` its square. `None` if there is no factor.
    pub(super) fn product_function(
        &mut self,
        factors: &[Factor],
        squared: bool,
        name: String,
    ) -> Option<Value> {
        if factors.is_empty() {
            return None;
        }
        let mut ops = vec![Op::Number(0.0)];
        let mut sum = 0;
        for factor in factors {
            if let Factor::LogNormal(parameter, lo, hi) = *factor {
                let theta = push(&mut ops, Op::Value(Value::Parameter(parameter)));
                let log = logarithm(&mut ops, theta, lo.ln(), hi.ln());
                sum = push(&mut ops, Op::Add(sum, log));
            }
        }
        let mut product = push(&mut ops, Op::Exp(sum));
        for factor in factors {
            if let Factor::Value(value) = *factor {
                let value = push(&mut ops, Op::Value(value));
                product = push(&mut ops, Op::Mul(product, value));
            }
        }
        if squared {
            push(&mut ops, Op::Mul(product, product));
        }
        self.add_function(name, ops)
    }
}
