//! A model in which one parameter has a value of its own in each channel.

use ns_core::{
    Constraint, Density, Effect, Function, FunctionForm, Model, Op, Parameter, ParameterSet, Tape, Value,
};

use crate::InferenceError;

/// Character between the name of the parameter and that of the channel.
const AT: char = '@';

/// A model whose parameter was split, and the channels with the new parameters.
pub(super) struct Split {
    pub(super) model: Model,
    /// Name of each channel that depends on the parameter, and the index of its own parameter.
    pub(super) channels: Vec<(String, usize)>,
}

/// Splits the parameter `poi` by channel. If `only` names a channel, this channel alone has its own parameter, and all
/// others keep the common one.
///
/// # Errors
/// [`InferenceError::CannotSplit`] if the parameter has a constraint, acts on fewer than two channels, or changes shapes of
/// event channels.
pub(super) fn split(model: &Model, poi: usize, only: Option<&str>) -> Result<Split, InferenceError> {
    let Some(parameter) = model.parameters.get(poi) else { return Err(InferenceError::Cancelled) };
    let refused = |problem: String| InferenceError::CannotSplit { name: parameter.name.clone(), problem };
    let has_penalty = model.penalties_of_parameters().get(poi).is_some_and(|terms| !terms.is_empty());
    if parameter.constraint != Constraint::None || has_penalty {
        return Err(refused("it has a constraint; choose a parameter without one".to_owned()));
    }
    let names = dependent(model, poi);
    if names.len() < 2 {
        let found =
            names.first().map_or_else(|| "no channel".to_owned(), |name| format!("channel '{name}' alone"));
        return Err(refused(format!("it acts on {found}; compatibility needs two channels")));
    }
    let mut work = Work { model: model.clone(), poi };
    let mut channels = Vec::new();
    for name in &names {
        if only.is_some_and(|only| only != name) {
            continue;
        }
        // The first of all channels keeps the parameter itself, so that no parameter is left without an effect.
        let own = if channels.is_empty() && only.is_none() { poi } else { work.add(parameter, name) };
        if own != poi {
            work.replace(name, own).map_err(refused)?;
        }
        channels.push((name.clone(), own));
    }
    work.model.pois = channels.iter().map(|(_, index)| *index).collect();
    if only.is_some() {
        work.model.pois.insert(0, poi);
    }
    Ok(Split { model: work.model, channels })
}

/// Names of the channels on which a parameter acts, in the order of the model.
pub(super) fn dependent(model: &Model, poi: usize) -> Vec<String> {
    let binned = model.channels.iter().filter(|channel| {
        let modifiers = channel.samples.iter().flat_map(|sample| &sample.modifiers);
        modifiers.into_iter().any(|m| model.acting_parameters(m, channel.n_bins).contains(&poi))
    });
    let events = model.event_channels.iter().filter(|channel| {
        channel.processes.iter().any(|process| model.dependencies(process.rate).contains(&poi))
    });
    binned.map(|c| c.name.clone()).chain(events.map(|c| c.name.clone())).collect()
}

struct Work {
    model: Model,
    poi: usize,
}

impl Work {
    /// Adds the parameter of a channel at the end of the model.
    fn add(&mut self, parameter: &Parameter, channel: &str) -> usize {
        let index = self.model.parameters.len();
        let name = format!("{}{AT}{channel}", parameter.name);
        self.model.parameter_sets.push(ParameterSet {
            name: name.clone(),
            range: index..index + 1,
            scalar: true,
        });
        self.model.parameters.push(Parameter { name, ..parameter.clone() });
        index
    }

    /// Replaces the parameter by `own` in one channel.
    fn replace(&mut self, channel: &str, own: usize) -> Result<(), String> {
        let functions = self.copied_functions(channel, own);
        let poi = self.poi;
        let changed = |value: Value| match value {
            Value::Parameter(p) if p == poi => Value::Parameter(own),
            Value::Function(f) => Value::Function(functions.get(f).copied().unwrap_or(f)),
            other => other,
        };
        for binned in self.model.channels.iter_mut().filter(|c| c.name == channel) {
            for modifier in binned.samples.iter_mut().flat_map(|sample| &mut sample.modifiers) {
                match &mut modifier.effect {
                    Effect::Function { values } => {
                        values.iter_mut().for_each(|value| *value = changed(*value))
                    }
                    effect if modifier.first == poi && !effect.per_bin() => modifier.first = own,
                    _ => {}
                }
            }
        }
        let depends: Vec<Vec<usize>> =
            (0..self.model.functions.len()).map(|f| self.model.dependencies(Value::Function(f))).collect();
        for events in self.model.event_channels.iter_mut().filter(|c| c.name == channel) {
            for process in &mut events.processes {
                let moves = |value: Value| match value {
                    Value::Parameter(p) => p == poi,
                    Value::Function(f) => depends.get(f).is_some_and(|all| all.contains(&poi)),
                    Value::Number(_) => false,
                };
                if density_values(&process.density).into_iter().any(moves) {
                    return Err(format!(
                        "it changes the density of process '{}' in channel '{channel}'; only rates can be split",
                        process.name
                    ));
                }
                process.rate = changed(process.rate);
            }
        }
        Ok(())
    }

    /// Copies all functions that depend on the parameter, with `own` in its place. Returns for each function the index of
    /// its copy, or its own index.
    fn copied_functions(&mut self, channel: &str, own: usize) -> Vec<usize> {
        let mut places = Vec::new();
        for f in 0..self.model.functions.len() {
            let depends = self.model.dependencies(Value::Function(f)).contains(&self.poi);
            let Some(function) = self.model.functions.get(f).filter(|_| depends).cloned() else {
                places.push(f);
                continue;
            };
            let poi = self.poi;
            let changed = |value: Value| match value {
                Value::Parameter(p) if p == poi => Value::Parameter(own),
                Value::Function(f) => Value::Function(places.get(f).copied().unwrap_or(f)),
                other => other,
            };
            let form = with_values(function.form, &changed);
            places.push(self.model.functions.len());
            self.model.functions.push(Function { name: format!("{}{AT}{channel}", function.name), form });
        }
        places
    }
}

/// Replaces the values that a function uses.
fn with_values(mut form: FunctionForm, changed: &dyn Fn(Value) -> Value) -> FunctionForm {
    match &mut form {
        FunctionForm::Sum(values) | FunctionForm::Product(values) => {
            values.iter_mut().for_each(|value| *value = changed(*value));
        }
        FunctionForm::Polynomial { x, coefficients } => {
            *x = changed(*x);
            coefficients.iter_mut().for_each(|value| *value = changed(*value));
        }
        FunctionForm::Interpolation { variations, .. } => {
            variations.iter_mut().for_each(|v| v.alpha = changed(v.alpha));
        }
        FunctionForm::Expression(tape) => {
            let op = |op: &Op| match op {
                Op::Value(value) => Op::Value(changed(*value)),
                other => *other,
            };
            // The order of the operations stays, so the new tape is valid as the old one was.
            if let Ok(new) = Tape::new(tape.ops().iter().map(op).collect()) {
                *tape = new;
            }
        }
    }
    form
}

/// The parameters and functions in the formula of a density and of its parts.
fn density_values(density: &Density) -> Vec<Value> {
    let mut values = density.own_values();
    values.extend(density.parts().iter().flat_map(density_values));
    values
}
