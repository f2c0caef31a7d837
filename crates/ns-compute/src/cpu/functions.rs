//! Checks the functions of parameters that are factors of samples, at the start values of the parameters.

use ns_core::{EventModelError, Model, Modifier, Value};

use crate::eval::{Scratch, forward};
use crate::events::Functions;
use crate::plan::Plan;
use crate::simd::Level;

/// Checks that all functions that are factors are finite at the start values of the parameters, and that no bin on which
/// they act has a negative expected yield there.
///
/// # Errors
/// If a function is infinite or not a number, or a yield is negative.
pub(super) fn check_start(model: &Model, plan: &Plan, level: Level) -> Result<(), EventModelError> {
    let mut scratch = Scratch::new(plan);
    forward(level, plan, &plan.structure.table.init, &mut scratch);
    let functions = Functions::new(&model.functions);
    let (mut memory, all) = (functions.memory(), (0..functions.len()).collect::<Vec<_>>());
    functions.evaluate_some(level, &plan.structure.table.init, &all, &mut memory);
    let value = |function: usize| functions.result(function, &memory)[0];
    for channel in &model.channels {
        let mut acting: Vec<usize> = Vec::new();
        for sample in &channel.samples {
            let values = sample.modifiers.iter().filter_map(Modifier::function).flatten();
            for function in values.filter_map(|value| match value {
                Value::Function(function) => Some(*function),
                _ => None,
            }) {
                if !value(function).is_finite() {
                    return Err(EventModelError::FunctionNotFinite {
                        function: name(model, function),
                        channel: channel.name.clone(),
                        sample: sample.name.clone(),
                        value: value(function),
                        parameters: parameters(model, function),
                    });
                }
                if !acting.contains(&function) {
                    acting.push(function);
                }
            }
        }
        if acting.is_empty() {
            continue;
        }
        let lambdas = scratch.lambda.get(channel.first_bin..channel.first_bin + channel.n_bins);
        let negative = lambdas.unwrap_or_default().iter().enumerate().find(|(_, yields)| **yields < 0.0);
        if let Some((bin, yields)) = negative {
            let text = |&function: &usize| format!("'{}' = {}", name(model, function), value(function));
            return Err(EventModelError::NegativeYield {
                channel: channel.name.clone(),
                bin,
                value: *yields,
                functions: acting.iter().map(text).collect::<Vec<_>>().join(", "),
            });
        }
    }
    Ok(())
}

fn name(model: &Model, function: usize) -> String {
    model.functions.get(function).map(|function| function.name.clone()).unwrap_or_default()
}

/// Returns the parameters of a function with their start values, as text.
fn parameters(model: &Model, function: usize) -> String {
    let own = model.dependencies(Value::Function(function)).into_iter();
    let text: Vec<String> = own
        .filter_map(|p| model.parameters.get(p))
        .map(|parameter| format!("{} = {}", parameter.name, parameter.init))
        .collect();
    text.join(", ")
}
