//! Converts arguments to values of the model: numbers, parameters and functions.

use ns_core::{Function, FunctionForm, InterpolationForm, Op, Tape, Value};

use crate::hs3::document::{Arg, Argument, Function as Written};
use crate::hs3::index::Object;
use crate::pyhf::names::quoted;

use super::channel::Space;
use super::{Builder, Trouble};

impl Builder<'_, '_> {
    /// Returns the value of an argument; `Trouble::Observables` if it depends on an observable of `space`.
    pub(super) fn value(&mut self, argument: &Arg, space: &Space) -> Result<Value, Trouble> {
        // Arguments of functions that are built on the way are none of the density.
        let captured = self.captured.take();
        let found = match &argument.value {
            Argument::Number(number) => Ok(Value::Number(*number)),
            Argument::Name(name) => self.named_value(name, &argument.path, space),
            Argument::Broken => Err(Trouble::Reported),
        };
        if captured.is_none() {
            return found;
        }
        let found = self.captured_value(found, argument, space);
        self.captured = captured;
        let (value, tape) = found?;
        self.captured.iter_mut().for_each(|all| all.push(tape.clone()));
        Ok(value)
    }

    /// Returns the values of several arguments.
    pub(super) fn values(&mut self, arguments: &[Arg], space: &Space) -> Result<Vec<Value>, Trouble> {
        arguments.iter().map(|argument| self.value(argument, space)).collect()
    }

    /// Returns the value of the parameter or function with this name.
    pub(super) fn named_value(&mut self, name: &str, path: &str, space: &Space) -> Result<Value, Trouble> {
        if space.observable(name).is_some() {
            return Err(Trouble::Observables);
        }
        match self.index.find(name) {
            Some(Object::Function(i)) => {
                if self.leaves(Object::Function(i)).iter().any(|leaf| space.observable(leaf).is_some()) {
                    return Err(Trouble::Observables);
                }
                self.function(i)
            }
            Some(Object::Distribution(_)) => Err(Trouble::Reported),
            None => {
                if self.parameters.settings.number(name).is_none() {
                    // ROOT writes some numbers as strings.
                    if let Ok(number) = name.parse::<f64>() {
                        return Ok(Value::Number(number));
                    }
                }
                if self.axes.contains(name) && !self.parameters.settings.is_constant(name) {
                    self.report.error(
                        path.to_owned(),
                        format!(
                            "{} is an axis of other data, not of the data of this channel.",
                            quoted(name)
                        ),
                        "Use the observables of the channel's own data, or make the parameter constant.",
                    );
                    return Err(Trouble::Reported);
                }
                Ok(Value::Parameter(self.parameters.get(name, None, path, self.report)))
            }
        }
    }

    /// Returns the value of a function of parameters. The function is built at its first use.
    fn function(&mut self, i: usize) -> Result<Value, Trouble> {
        if let Some(value) = self.function_values.get(&i) {
            return Ok(*value);
        }
        let Some(function) = self.index.document.functions.get(i) else { return Err(Trouble::Reported) };
        let space = Space::none();
        let form = match &function.content {
            Written::Sum { summands } => FunctionForm::Sum(self.values(summands, &space)?),
            Written::Product { factors } => FunctionForm::Product(self.values(factors, &space)?),
            Written::Polynomial { x, coefficients } => FunctionForm::Polynomial {
                x: self.value(x, &space)?,
                coefficients: self.values(coefficients, &space)?,
            },
            Written::Generic { expression, .. } => {
                let index = self.index;
                let Some(parsed) = index.function_expression(i) else { return Err(Trouble::Reported) };
                let mut values = Vec::new();
                for name in parsed.names() {
                    values.push(self.named_value(name, &expression.path, &space)?);
                }
                let numbers: Option<Vec<f64>> = values
                    .iter()
                    .map(|value| match value {
                        Value::Number(number) => Some(*number),
                        _ => None,
                    })
                    .collect();
                if let Some(numbers) = numbers {
                    let number = parsed.value(|name| numbers.get(name).copied().unwrap_or(f64::NAN));
                    return self.number(i, number, &expression.path);
                }
                let mut ops: Vec<Op> = values.into_iter().map(operation).collect();
                let operands: Vec<usize> = (0..ops.len()).collect();
                let last = parsed.append_to(&mut ops, &operands);
                FunctionForm::Expression(self.tape(ops, last, &expression.path)?)
            }
            Written::Interpolation { parameters, nominal, low, high, codes } => {
                let parameters = self.values(parameters, &space)?;
                self.interpolation(&function.path, &parameters, *nominal, low, high, codes)?
            }
            Written::ProcessNormalization { nominal, symmetric, asymmetric, factors } => {
                self.normalization((nominal, factors), symmetric, asymmetric, &function.path)?
            }
            Written::Unsupported { kind } => {
                self.report.error(
                    format!("{}/type", function.path),
                    format!("Functions of type {} are not supported.", quoted(kind)),
                    "Write it as a generic_function, a sum, a product or a polynomial.",
                );
                return Err(Trouble::Reported);
            }
        };
        let value = self.add_function(function.name.clone(), form);
        self.function_values.insert(i, value);
        Ok(value)
    }

    /// Stores the value of a function that does not depend on parameters.
    fn number(&mut self, i: usize, number: f64, path: &str) -> Result<Value, Trouble> {
        if !number.is_finite() {
            self.report.error(
                path.to_owned(),
                format!("The expression has the value {number}."),
                "Correct it, so that its value is a finite number.",
            );
            return Err(Trouble::Reported);
        }
        self.function_values.insert(i, Value::Number(number));
        Ok(Value::Number(number))
    }

    /// Adds a function to the model.
    pub(super) fn add_function(&mut self, name: String, form: FunctionForm) -> Value {
        self.functions.push(Function { name, form });
        Value::Function(self.functions.len() - 1)
    }

    /// Builds an expression from a list of operations. `last` is the index of the operation whose value is the value
    /// of the expression.
    pub(super) fn tape(&mut self, mut ops: Vec<Op>, last: usize, path: &str) -> Result<Tape, Trouble> {
        // The last operation of a tape gives the value of the tape.
        if last + 1 != ops.len()
            && let Some(op) = ops.get(last).copied()
        {
            ops.push(op);
        }
        Tape::new(ops).map_err(|error| {
            let remedy = "Simplify the expression.";
            self.report.error(path.to_owned(), format!("The expression cannot be used: {error}."), remedy);
            Trouble::Reported
        })
    }

    /// Builds ROOT's interpolation of a number that depends on nuisance parameters. The number is `nominal` if all
    /// parameters are 0, and `low[i]` or `high[i]` if only parameter `i` is moved, to -1 or to 1.
    fn interpolation(
        &mut self,
        path: &str,
        parameters: &[Value],
        nominal: f64,
        low: &[f64],
        high: &[f64],
        codes: &[i64],
    ) -> Result<FunctionForm, Trouble> {
        let n = parameters.len();
        if low.len() != n || high.len() != n || codes.len() != n {
            self.report.error(
                path.to_owned(),
                format!(
                    "There are {n} 'vars', but {} 'low', {} 'high' and {} 'interpolationCodes'.",
                    low.len(),
                    high.len(),
                    codes.len()
                ),
                "Write one of each per parameter.",
            );
            return Err(Trouble::Reported);
        }
        let mut variations = Vec::with_capacity(n);
        for (i, (alpha, code)) in parameters.iter().zip(codes).enumerate() {
            let known = [0, 1, 2, 4, 5, 6].contains(code);
            let Some(code) = u8::try_from(*code).ok().filter(|_| known) else {
                self.report.error(
                    format!("{path}/interpolationCodes/{i}"),
                    format!("The interpolation code {code} is not supported."),
                    "The codes are 0, 1, 2, 4, 5 and 6.",
                );
                return Err(Trouble::Reported);
            };
            let number = |list: &[f64]| list.get(i).copied().unwrap_or(nominal);
            variations.push(InterpolationForm { alpha: *alpha, lo: number(low), hi: number(high), code });
        }
        Ok(FunctionForm::Interpolation { nominal, variations, positive: true })
    }

    /// Returns the value of an argument that never changes: a number, a constant parameter, or a function of
    /// these. Returns `None` for any other argument.
    pub(super) fn constant(&mut self, argument: &Arg) -> Option<f64> {
        match &argument.value {
            Argument::Number(number) => Some(*number),
            Argument::Name(name) => self.constant_name(name),
            Argument::Broken => None,
        }
    }

    fn constant_name(&mut self, name: &str) -> Option<f64> {
        match self.index.find(name) {
            None => match self.parameters.settings.number(name) {
                Some(value) => self.parameters.settings.is_constant(name).then_some(value),
                None => name.parse().ok().filter(|x: &f64| x.is_finite()),
            },
            Some(Object::Distribution(_)) => None,
            Some(Object::Function(i)) => {
                if let Some(known) = self.constants.get(&i) {
                    return *known;
                }
                let number = self.constant_function(i).filter(|x| x.is_finite());
                self.constants.insert(i, number);
                number
            }
        }
    }

    fn constant_function(&mut self, i: usize) -> Option<f64> {
        let index = self.index;
        match &index.document.functions.get(i)?.content {
            Written::Sum { summands } => summands.iter().map(|argument| self.constant(argument)).sum(),
            Written::Product { factors } => factors.iter().map(|argument| self.constant(argument)).product(),
            Written::Polynomial { x, coefficients } => {
                let x = self.constant(x)?;
                let coefficients: Option<Vec<f64>> =
                    coefficients.iter().map(|argument| self.constant(argument)).collect();
                Some(coefficients?.iter().rev().fold(0.0, |sum, c| sum * x + c))
            }
            Written::Generic { .. } => {
                let expression = index.function_expression(i)?;
                let numbers: Option<Vec<f64>> =
                    expression.names().iter().map(|name| self.constant_name(name)).collect();
                let numbers = numbers?;
                Some(expression.value(|name| numbers.get(name).copied().unwrap_or(f64::NAN)))
            }
            Written::Interpolation { .. }
            | Written::ProcessNormalization { .. }
            | Written::Unsupported { .. } => None,
        }
    }
}

/// Returns the operation of an expression that reads the value `value`.
pub(super) fn operation(value: Value) -> Op {
    match value {
        Value::Number(number) => Op::Number(number),
        other => Op::Value(other),
    }
}
