//! Writes the functions of a model as text for people.

use ns_core::{FunctionForm, Model, Value};
use ns_unbinned::expression::text;

/// Largest length of a formula in bytes. Longer formulas are cut.
const LONGEST: usize = 4096;

/// Returns the formula of a function, with the names of the parameters and functions that it uses.
pub(crate) fn formula(model: &Model, form: &FunctionForm) -> String {
    let name = |value: Value| match value {
        Value::Number(x) => Some(format!("{x}")),
        Value::Parameter(p) => model.parameters.get(p).map(|p| p.name.clone()),
        Value::Function(f) => model.functions.get(f).map(|f| f.name.clone()),
    };
    let one = |value: Value| name(value).unwrap_or_default();
    let joined = |values: &[Value], sign: &str| values.iter().map(|&v| one(v)).collect::<Vec<_>>().join(sign);
    match form {
        FunctionForm::Sum(values) if values.is_empty() => "0".to_owned(),
        FunctionForm::Product(values) if values.is_empty() => "1".to_owned(),
        FunctionForm::Sum(values) => joined(values, " + "),
        FunctionForm::Product(values) => joined(values, " * "),
        FunctionForm::Polynomial { x, coefficients } => {
            let power = |(i, c): (usize, &Value)| match i {
                0 => one(*c),
                1 => format!("{} * {}", one(*c), one(*x)),
                _ => format!("{} * {}^{i}", one(*c), one(*x)),
            };
            coefficients.iter().enumerate().map(power).collect::<Vec<_>>().join(" + ")
        }
        FunctionForm::Interpolation { nominal, variations, .. } => {
            let alphas: Vec<String> = variations.iter().map(|v| one(v.alpha)).collect();
            format!("{nominal}, interpolated in {}", alphas.join(", "))
        }
        FunctionForm::Expression(tape) => {
            text(tape, &name, LONGEST).unwrap_or_else(|| "(too long)".to_owned())
        }
    }
}
