//! Writes functions of parameters that are factors of samples as modifiers of type `function`.

use std::collections::{BTreeMap, BTreeSet};

use ns_core::{Constraint, FunctionForm, Model, Op, Tape, Value};
use ns_unbinned::expression::{LONGEST, is_name, text};
use serde_json::{Map, json};

use super::names::quoted;

/// Bound that replaces an infinite one, because bounds in workspaces are finite.
const FAR: f64 = 1e10;

/// The functions of a model as parts of a workspace.
#[derive(Debug, Default)]
pub(super) struct WrittenFunctions {
    /// Parameters that only functions use.
    pub(super) parameters: BTreeSet<usize>,
    /// Settings of these parameters in the measurement.
    pub(super) settings: Vec<serde_json::Value>,
    /// Data of each modifier: its name, and its values as they are in the model.
    modifiers: Vec<(String, Vec<Value>, String, serde_json::Value)>,
}

impl WrittenFunctions {
    /// Returns the modifier of type `function` with these values. `name` is the name of the modifier in the model.
    pub(super) fn modifier(&self, name: &str, values: &[Value]) -> Option<serde_json::Value> {
        let found = self.modifiers.iter().find(|(of, own, ..)| of == name && own == values)?;
        Some(json!({"name": found.2, "type": "function", "data": found.3}))
    }
}

/// Writes the functions of a model. `names` contains the name of each parameter in the workspace, and `used` the parameters
/// that other modifiers declare. Adds a reason for each part that a workspace cannot express.
pub(super) fn written(
    model: &Model,
    names: &[Option<String>],
    used: &BTreeSet<usize>,
    reasons: &mut Vec<String>,
) -> WrittenFunctions {
    let mut all = WrittenFunctions::default();
    let mut taken: BTreeMap<String, serde_json::Value> = BTreeMap::new();
    let samples = model.channels.iter().flat_map(|channel| &channel.samples);
    for modifier in samples.flat_map(|sample| &sample.modifiers) {
        let Some(values) = modifier.function() else { continue };
        if all.modifier(&modifier.name, values).is_some() {
            continue;
        }
        let expressions: Option<Vec<String>> =
            values.iter().map(|&value| expression(model, value, names)).collect();
        let Some(expressions) = expressions else {
            reasons.push(format!(
                "the function {} has interpolations, or parameters whose names are no words of expressions",
                quoted(&modifier.name)
            ));
            continue;
        };
        let data = match expressions.as_slice() {
            [one] => json!({"expression": one}),
            _ => json!({"expressions": expressions}),
        };
        // The name of a modifier of this type is also that of a function.
        let mut name = modifier.name.clone();
        let clashes = |name: &str| {
            taken.get(name).is_some_and(|known| *known != data)
                || names.iter().flatten().any(|parameter| parameter == name)
        };
        while clashes(&name) {
            name.push('_');
        }
        taken.insert(name.clone(), data.clone());
        all.parameters
            .extend(values.iter().flat_map(|&value| model.dependencies(value)).filter(|p| !used.contains(p)));
        all.modifiers.push((modifier.name.clone(), values.to_vec(), name, data));
    }
    for &p in &all.parameters {
        all.settings.extend(setting(model, p, reasons));
    }
    all
}

/// Returns the settings of a parameter that only functions use.
fn setting(model: &Model, parameter: usize, reasons: &mut Vec<String>) -> Option<serde_json::Value> {
    let p = model.parameters.get(parameter)?;
    let bounds = [p.bounds.0.max(-FAR), p.bounds.1.min(FAR)];
    let mut map = Map::new();
    map.insert("name".to_owned(), json!(p.name));
    map.insert("inits".to_owned(), json!([p.init]));
    map.insert("bounds".to_owned(), json!([bounds]));
    if p.fixed {
        map.insert("fixed".to_owned(), json!(true));
    }
    match p.constraint {
        Constraint::None => {}
        Constraint::Gaussian { sigma, aux } => {
            map.insert("auxdata".to_owned(), json!([model.observed.aux.get(aux)]));
            map.insert("sigmas".to_owned(), json!([sigma]));
        }
        Constraint::Poisson { .. } => {
            reasons
                .push(format!("the constraint of {}, which functions use, is not Gaussian", quoted(&p.name)));
        }
    }
    Some(serde_json::Value::Object(map))
}

/// Returns the expression of a value, with all functions that it uses written out.
fn expression(model: &Model, value: Value, names: &[Option<String>]) -> Option<String> {
    let mut ops = Vec::new();
    let last = append(model, value, &mut ops)?;
    if last + 1 != ops.len() {
        let op = *ops.get(last)?;
        ops.push(op);
    }
    let name = |value: Value| match value {
        Value::Parameter(p) => names.get(p)?.clone().filter(|name| is_name(name)),
        _ => None,
    };
    text(&Tape::new(ops).ok()?, &name, LONGEST)
}

/// Appends the operations of a value to `ops`. Returns the index of its result; `None` if the value is an interpolation, or
/// becomes too long.
fn append(model: &Model, value: Value, ops: &mut Vec<Op>) -> Option<usize> {
    if ops.len() > LONGEST {
        return None;
    }
    let push = |ops: &mut Vec<Op>, op| {
        ops.push(op);
        ops.len() - 1
    };
    let fold = |ops: &mut Vec<Op>, values: &[Value], empty: f64, join: fn(usize, usize) -> Op| {
        let mut places =
            values.iter().map(|&value| append(model, value, ops)).collect::<Option<Vec<_>>>()?.into_iter();
        let Some(first) = places.next() else { return Some(push(ops, Op::Number(empty))) };
        Some(places.fold(first, |sum, place| push(ops, join(sum, place))))
    };
    let function = match value {
        Value::Number(x) => return Some(push(ops, Op::Number(x))),
        Value::Parameter(_) => return Some(push(ops, Op::Value(value))),
        Value::Function(f) => model.functions.get(f)?,
    };
    match &function.form {
        FunctionForm::Sum(values) => fold(ops, values, 0.0, Op::Add),
        FunctionForm::Product(values) => fold(ops, values, 1.0, Op::Mul),
        FunctionForm::Polynomial { x, coefficients } => {
            let x = append(model, *x, ops)?;
            let mut sum = push(ops, Op::Number(0.0));
            for &coefficient in coefficients.iter().rev() {
                let c = append(model, coefficient, ops)?;
                let product = push(ops, Op::Mul(sum, x));
                sum = push(ops, Op::Add(c, product));
            }
            Some(sum)
        }
        FunctionForm::Interpolation { .. } => None,
        FunctionForm::Expression(tape) => {
            let mut places: Vec<usize> = Vec::with_capacity(tape.ops().len());
            for op in tape.ops() {
                let place = match *op {
                    Op::Value(value) => append(model, value, ops)?,
                    Op::Observable(_) => return None,
                    op => {
                        let moved =
                            op.with_operands(|operand| places.get(operand).copied().unwrap_or_default());
                        push(ops, moved)
                    }
                };
                places.push(place);
            }
            places.last().copied()
        }
    }
}
