//! Checks a model before it is compiled.

use ns_core::{Device, Effect, EventModelError, Execution, FunctionForm, Model, SessionError, Value};

/// Largest number of second derivatives of all operations of a function that is a factor of a sample. They take 8 bytes each
/// in every thread.
const MOST_DERIVATIVES: usize = 20_000_000;

/// Returns an error if indices or lengths of the model are inconsistent, or if the memory limit is exceeded. Code
/// that evaluates the model relies on these checks, and does not check indices.
pub(super) fn check(model: &Model, execution: &Execution) -> Result<(), SessionError> {
    let n = model.parameters.len();
    let parameter = |index: usize| {
        if index < n { Ok(()) } else { Err(SessionError::NoSuchParameter { index, n_parameters: n }) }
    };
    let length = |what, actual, expected| {
        if actual == expected { Ok(()) } else { Err(SessionError::WrongLength { what, actual, expected }) }
    };
    let mut bin = 0;
    let mut numbers: u64 = 0;
    for channel in &model.channels {
        length("first bin of a channel", channel.first_bin, bin)?;
        bin += channel.n_bins;
        for sample in &channel.samples {
            length("nominal yields", sample.nominal.len(), channel.n_bins)?;
            for modifier in &sample.modifiers {
                if modifier.function().is_some() {
                    // `Model::check_events` checks functions.
                    continue;
                }
                parameter(modifier.first)?;
                match &modifier.effect {
                    Effect::HistoSys { lo, hi } => {
                        length("histosys lo_data", lo.len(), channel.n_bins)?;
                        length("histosys hi_data", hi.len(), channel.n_bins)?;
                        numbers += 2 * (channel.n_bins as u64 + 4);
                    }
                    Effect::NormSys { .. } => numbers += 12,
                    effect if effect.per_bin() => parameter(modifier.first + channel.n_bins.max(1) - 1)?,
                    _ => {}
                }
            }
        }
    }
    if model.has_function_factors() {
        functions(model)?;
    }
    length("observed main data", model.observed.main.len(), bin)?;
    for p in &model.parameters {
        if let Some(aux) = p.constraint.aux()
            && aux >= model.observed.aux.len()
        {
            return Err(SessionError::WrongLength {
                what: "auxiliary data",
                actual: model.observed.aux.len(),
                expected: aux + 1,
            });
        }
    }
    if let Some(limit) = execution.memory_limit {
        let needed = numbers * 8;
        if needed > limit {
            let (what, remedy) = ("the compiled model", "take a smaller model");
            return Err(SessionError::MemoryLimit { device: Device::Cpu, what, needed, limit, remedy });
        }
    }
    Ok(())
}

/// Checks the sizes of the functions of a model.
fn functions(model: &Model) -> Result<(), EventModelError> {
    for (index, function) in model.functions.iter().enumerate() {
        let FunctionForm::Expression(tape) = &function.form else { continue };
        let parameters = model.dependencies(Value::Function(index)).len();
        let operations = tape.ops().len();
        let pairs = parameters.saturating_mul(parameters + 1) / 2;
        if operations.saturating_mul(pairs) > MOST_DERIVATIVES {
            let function = function.name.clone();
            return Err(EventModelError::FunctionTooLarge { function, parameters, operations });
        }
    }
    Ok(())
}
