//! Makes functions from the expressions of derived quantities.

use ns_core::{Function, FunctionForm, Model, Op, Tape, Value};
use ns_unbinned::expression::Expression;

use crate::InferenceError;
use crate::lookup::parameter_index;

/// Returns one function per quantity. Each may use the parameters and the functions of the model, and the quantities before
/// it.
///
/// # Errors
/// [`InferenceError::Derived`] for an expression with a mistake, a name that does not exist, or a name of a
/// quantity that is in use.
pub(super) fn functions(
    model: &Model,
    quantities: &[(String, String)],
) -> Result<Vec<Function>, InferenceError> {
    let mut functions: Vec<Function> = Vec::with_capacity(quantities.len());
    for (name, text) in quantities {
        let refused = |problem: String| InferenceError::Derived { name: name.clone(), problem };
        if functions.iter().any(|known| known.name == *name) {
            return Err(refused("its name is given twice; choose another name".to_owned()));
        }
        if model.parameter_index(name).is_some() {
            return Err(refused("a parameter has its name; choose another name".to_owned()));
        }
        let parsed = Expression::parse(text).map_err(|error| {
            refused(format!("the expression '{text}' is wrong {error}. {}", error.remedy()))
        })?;
        let mut ops = Vec::with_capacity(parsed.names().len());
        for used in parsed.names() {
            ops.push(Op::Value(value(model, &functions, used).map_err(|error| refused(error.to_string()))?));
        }
        let operands: Vec<usize> = (0..ops.len()).collect();
        let last = parsed.append_to(&mut ops, &operands);
        if let Some(op) = ops.get(last).copied().filter(|_| last + 1 != ops.len()) {
            ops.push(op);
        }
        let tape = Tape::new(ops).map_err(|error| refused(error.to_string()))?;
        functions.push(Function { name: name.clone(), form: FunctionForm::Expression(tape) });
    }
    Ok(functions)
}

/// Returns the value of a name: a quantity that was given before, a parameter, or a function of the model.
fn value(model: &Model, earlier: &[Function], name: &str) -> Result<Value, InferenceError> {
    if let Some(i) = earlier.iter().position(|function| function.name == name) {
        return Ok(Value::Function(model.functions.len() + i));
    }
    if let Some(i) = model.parameter_index(name) {
        return Ok(Value::Parameter(i));
    }
    if let Some(i) = model.functions.iter().position(|function| function.name == name) {
        return Ok(Value::Function(i));
    }
    // The error names similar parameters.
    parameter_index(model, name).map(Value::Parameter)
}
