//! Recognises functions that are products of parameters. They are compiled as ordinary scale factors, which all engines
//! have.

use ns_core::{Function, FunctionForm, Modifier, Op, Tape, Value};

/// For each function of a model, the parameters of which it is the product; `None` for other functions.
pub(super) struct Products(Vec<Option<Vec<usize>>>);

/// Largest number of parameters of a product that is compiled as scale factors.
const MOST_PARAMETERS: usize = 16;

impl Products {
    /// Finds the products among the functions of a model. Each function uses only functions before it.
    pub(super) fn new(functions: &[Function]) -> Self {
        let mut known = Self(Vec::with_capacity(functions.len()));
        for function in functions {
            let product = match &function.form {
                FunctionForm::Product(values) => known.all(values),
                FunctionForm::Sum(values) if values.len() == 1 => known.all(values),
                FunctionForm::Expression(tape) => known.tape(tape),
                _ => None,
            };
            known.0.push(product);
        }
        known
    }

    /// Returns the parameters whose product the functions of a sample are, if all of them multiply the whole sample, and no
    /// parameter occurs twice. Returns `None` otherwise, and for a sample without functions.
    pub(super) fn of_sample(&self, modifiers: &[Modifier]) -> Option<Vec<usize>> {
        let mut parameters = Vec::new();
        let mut any = false;
        for values in modifiers.iter().filter_map(Modifier::function) {
            let [value] = values else { return None };
            parameters.extend(self.of(*value)?);
            any = true;
        }
        let mut sorted = parameters.clone();
        sorted.sort_unstable();
        sorted.dedup();
        (any && sorted.len() == parameters.len()).then_some(parameters)
    }

    fn of(&self, value: Value) -> Option<Vec<usize>> {
        match value {
            Value::Number(x) => (x == 1.0).then(Vec::new),
            Value::Parameter(p) => Some(vec![p]),
            Value::Function(f) => self.0.get(f)?.clone(),
        }
    }

    fn all(&self, values: &[Value]) -> Option<Vec<usize>> {
        let mut parameters = Vec::new();
        for &value in values {
            parameters.extend(self.of(value)?);
        }
        (parameters.len() <= MOST_PARAMETERS).then_some(parameters)
    }

    fn tape(&self, tape: &Tape) -> Option<Vec<usize>> {
        let mut results: Vec<Option<Vec<usize>>> = Vec::with_capacity(tape.ops().len());
        for op in tape.ops() {
            let result = match *op {
                Op::Number(x) => self.of(Value::Number(x)),
                Op::Value(value) => self.of(value),
                Op::Mul(a, b) => match (results.get(a), results.get(b)) {
                    (Some(Some(a)), Some(Some(b))) => Some([a.as_slice(), b].concat()),
                    _ => None,
                },
                _ => None,
            };
            results.push(result.filter(|parameters| parameters.len() <= MOST_PARAMETERS));
        }
        results.pop().flatten()
    }
}
