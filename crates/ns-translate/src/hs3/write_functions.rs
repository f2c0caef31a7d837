//! Writes the functions of a model as HS3.

use ns_core::{FunctionForm, InterpolationForm, Model, Value};
use ns_unbinned::expression::{LONGEST, is_name, text};
use serde_json::json;

use super::write::WriteError;

/// The functions of a model as HS3 objects, and their names in the file.
pub(super) struct Functions {
    pub(super) written: Vec<serde_json::Value>,
    pub(super) names: Vec<String>,
}

/// Writes the functions of a model. `free` returns a name that nothing in the file has yet, close to a wanted one.
///
/// # Errors
/// [`WriteError::Function`] if a formula contains a name that expressions cannot contain.
pub(super) fn write(model: &Model, mut free: impl FnMut(&str) -> String) -> Result<Functions, WriteError> {
    let mut functions = Functions { written: Vec::new(), names: Vec::new() };
    for function in &model.functions {
        let name = free(&function.name);
        let one = |v: Value| value(model, &functions.names, v);
        let all = |values: &[Value]| values.iter().map(|&v| one(v)).collect::<Vec<_>>();
        let refused = |why| WriteError::Function { function: function.name.clone(), why };
        let object = match &function.form {
            FunctionForm::Sum(values) => json!({"name": name, "type": "sum", "summands": all(values)}),
            FunctionForm::Product(values) => json!({"name": name, "type": "product", "factors": all(values)}),
            FunctionForm::Polynomial { x, coefficients } => {
                json!({"name": name, "type": "polynomial", "x": one(*x), "coefficients": all(coefficients)})
            }
            FunctionForm::Interpolation { nominal, variations, positive } => {
                if !positive {
                    return Err(refused("HS3 has no interpolation whose value may be negative"));
                }
                let numbers =
                    |of: fn(&InterpolationForm) -> f64| variations.iter().map(of).collect::<Vec<_>>();
                let codes: Vec<u8> = variations.iter().map(|v| v.code).collect();
                let parameters: Vec<_> = variations.iter().map(|v| one(v.alpha)).collect();
                json!({"name": name, "type": "interpolation0d", "vars": parameters, "nom": nominal,
                       "low": numbers(|v| v.lo), "high": numbers(|v| v.hi), "interpolationCodes": codes})
            }
            FunctionForm::Expression(tape) => {
                let named = |v: Value| one(v).as_str().filter(|name| is_name(name)).map(str::to_owned);
                let expression = text(tape, &named, LONGEST)
                    .ok_or_else(|| refused("expressions cannot contain the name of one of its parameters"))?;
                json!({"name": name, "type": "generic_function", "expression": expression})
            }
        };
        functions.written.push(object);
        functions.names.push(name);
    }
    Ok(functions)
}

/// Returns a value as it is written in an HS3 file: a number, or the name of a parameter or a function. `functions` contains
/// the names of the functions.
pub(super) fn value(model: &Model, functions: &[String], value: Value) -> serde_json::Value {
    match value {
        Value::Number(x) => json!(x),
        Value::Parameter(p) => json!(model.parameters.get(p).map(|p| &p.name)),
        Value::Function(f) => json!(functions.get(f)),
    }
}

/// Returns a value as the name of a factor of a modifier. A number is written as text, as ROOT does.
pub(super) fn name(model: &Model, functions: &[String], of: Value) -> serde_json::Value {
    match of {
        Value::Number(x) => json!(format!("{x:?}")),
        _ => value(model, functions, of),
    }
}
