//! Reads the argument that says which numbers of a model (for example yields) are inputs. Derivatives are computed with
//! respect to the inputs. Inputs are named by strings and tuples.

use ns_core::{Input, InputError, Model};
use ns_inference::differentiable::Follow;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The tuples that can name an input in Python, as text for error messages.
const KINDS: &str = "(\"nominal\", channel, sample), (\"histosys_hi\", channel, sample, modifier), \"histosys_lo\", \
                     \"normsys_hi\" and \"normsys_lo\" likewise, (\"staterror\", name) and (\"shapesys\", name)";

/// Reads a list of inputs. A string names a sample: the nominal yields of this sample in all channels are
/// inputs. A tuple names a single input.
///
/// # Errors
/// `ValueError` for names that the model does not have, `TypeError` for other objects.
pub(crate) fn read(model: &Model, object: &Bound<'_, PyAny>) -> PyResult<Vec<Input>> {
    if let Ok(name) = object.extract::<String>() {
        return of_sample(model, &name);
    }
    let mut inputs = Vec::new();
    for item in object.try_iter()? {
        let item = item?;
        if let Ok(name) = item.extract::<String>() {
            inputs.extend(of_sample(model, &name)?);
            continue;
        }
        let parts: Vec<String> = item.extract().map_err(|_| {
            PyTypeError::new_err(format!("an input is the name of a sample, or one of {KINDS}; not {item}"))
        })?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        inputs.push(one(model, &parts)?);
    }
    if inputs.is_empty() {
        return Err(PyValueError::new_err(format!("there are no inputs; name samples, or {KINDS}")));
    }
    Ok(inputs)
}

/// Reads the argument `follow`. It lists the quantities of the model that change together with the nominal yields:
/// histosys templates, staterror constraints and shapesys constraints.
///
/// # Errors
/// `ValueError` for an unknown word.
pub(crate) fn follow(words: &[String]) -> PyResult<Follow> {
    let mut follow = Follow::default();
    for word in words {
        match word.as_str() {
            "templates" => follow.templates = true,
            "staterror" => follow.staterror = true,
            "shapesys" => follow.shapesys = true,
            other => {
                return Err(PyValueError::new_err(format!(
                    "'{other}' cannot follow the yields; \"templates\", \"staterror\" and \"shapesys\" can"
                )));
            }
        }
    }
    Ok(follow)
}

/// Returns the nominal yields of a sample as inputs, one for each channel that contains the sample.
fn of_sample(model: &Model, name: &str) -> PyResult<Vec<Input>> {
    let inputs = model.nominal_inputs(name);
    if inputs.is_empty() && model.channels.is_empty() {
        return Err(PyValueError::new_err(format!(
            "no sample is called '{name}': the model has no HistFactory channels, and only their numbers can be inputs ({KINDS}); \
             derivatives of a likelihood of events with respect to parameters are in Model.grad_nll"
        )));
    }
    if inputs.is_empty() {
        let samples = model.channels.iter().flat_map(|channel| &channel.samples);
        let mut names: Vec<&str> = samples.map(|sample| sample.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let names = names.join("', '");
        return Err(PyValueError::new_err(format!("no sample is called '{name}'; there are '{names}'")));
    }
    Ok(inputs)
}

/// Returns the error for inputs that the model cannot open, with the names of the input.
pub(crate) fn refused(model: &Model, error: &InputError) -> PyErr {
    let name = |input: &Input| {
        let names = written(model, *input);
        format!("(\"{}\")", names.join("\", \""))
    };
    PyValueError::new_err(match error {
        InputError::Twice { input } => match input {
            Input::Nominal { .. } => format!(
                "input {} is given twice; give it once (the name of a sample stands for all its channels)",
                name(input)
            ),
            _ => format!("input {} is given twice; give it once", name(input)),
        },
        InputError::OtherModifier { input, found, wanted } => {
            format!("input {}: the modifier is a {found}; name a {wanted}", name(input))
        }
        InputError::OtherConstraint { input, set, wanted } => {
            format!(
                "input {}: no parameter of the set '{set}' has a {wanted} constraint; name another set",
                name(input)
            )
        }
        other => other.to_string(),
    })
}

/// Returns the input that a tuple names.
fn one(model: &Model, parts: &[&str]) -> PyResult<Input> {
    let bad = |what: &str, name: &str| PyValueError::new_err(format!("input {parts:?}: no {what} '{name}'"));
    let place = |channel: &str, sample: &str| {
        let c =
            model.channels.iter().position(|c| c.name == channel).ok_or_else(|| bad("channel", channel))?;
        let samples = model.channels.get(c).map_or(&[][..], |c| &c.samples);
        let s = samples.iter().position(|s| s.name == sample).ok_or_else(|| bad("sample", sample))?;
        Ok::<_, PyErr>((c, s))
    };
    let set = |name: &str| {
        let found = model.parameter_sets.iter().position(|set| set.name == name);
        found.ok_or_else(|| bad("parameter", name))
    };
    match *parts {
        ["nominal", channel, sample] => {
            let (channel, sample) = place(channel, sample)?;
            Ok(Input::Nominal { channel, sample })
        }
        ["staterror", name] => Ok(Input::StatError { set: set(name)? }),
        ["shapesys", name] => Ok(Input::ShapeSys { set: set(name)? }),
        [kind, channel, sample, modifier] => {
            let (channel, sample) = place(channel, sample)?;
            let kind_of = kind.split('_').next().unwrap_or_default();
            let modifiers = model.channels.get(channel).and_then(|c| c.samples.get(sample));
            let modifier = modifiers
                .and_then(|s| {
                    let is = |m: &ns_core::Modifier| m.name == modifier && m.effect.type_name() == kind_of;
                    s.modifiers.iter().position(is)
                })
                .ok_or_else(|| bad(kind_of, modifier))?;
            match kind {
                "histosys_hi" => Ok(Input::HistoHi { channel, sample, modifier }),
                "histosys_lo" => Ok(Input::HistoLo { channel, sample, modifier }),
                "normsys_hi" => Ok(Input::NormHi { channel, sample, modifier }),
                "normsys_lo" => Ok(Input::NormLo { channel, sample, modifier }),
                _ => Err(PyValueError::new_err(format!("input {parts:?} is not one of {KINDS}"))),
            }
        }
        _ => Err(PyValueError::new_err(format!("input {parts:?} is not one of {KINDS}"))),
    }
}

/// Returns an input as a tuple of strings, in the form that [`read`] accepts.
pub(crate) fn written(model: &Model, input: Input) -> Vec<String> {
    let name_of = |channel: usize, sample: usize, modifier: Option<usize>| {
        let c = model.channels.get(channel);
        let s = c.and_then(|c| c.samples.get(sample));
        let mut names = vec![c.map_or("", |c| c.name.as_str()), s.map_or("", |s| s.name.as_str())];
        names.extend(modifier.and_then(|m| s?.modifiers.get(m)).map(|m| m.name.as_str()));
        names
    };
    let set = |set: usize| vec![model.parameter_sets.get(set).map_or("", |set| set.name.as_str())];
    let (kind, names) = match input {
        Input::Nominal { channel, sample } => ("nominal", name_of(channel, sample, None)),
        Input::HistoHi { channel, sample, modifier } => {
            ("histosys_hi", name_of(channel, sample, Some(modifier)))
        }
        Input::HistoLo { channel, sample, modifier } => {
            ("histosys_lo", name_of(channel, sample, Some(modifier)))
        }
        Input::NormHi { channel, sample, modifier } => {
            ("normsys_hi", name_of(channel, sample, Some(modifier)))
        }
        Input::NormLo { channel, sample, modifier } => {
            ("normsys_lo", name_of(channel, sample, Some(modifier)))
        }
        Input::StatError { set: index } => ("staterror", set(index)),
        Input::ShapeSys { set: index } => ("shapesys", set(index)),
    };
    std::iter::once(kind).chain(names).map(str::to_owned).collect()
}
