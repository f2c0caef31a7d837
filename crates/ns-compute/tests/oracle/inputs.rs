//! Lists the inputs of a model (numbers of the model that data may replace).

use ns_core::{Constraint, Effect, Input, Model};

/// Returns all inputs that a model can have (all its numbers that data could replace).
pub(super) fn all_inputs(model: &Model) -> Vec<Input> {
    let mut inputs = Vec::new();
    for (channel, c) in model.channels.iter().enumerate() {
        for (sample, s) in c.samples.iter().enumerate() {
            inputs.push(Input::Nominal { channel, sample });
            for (modifier, m) in s.modifiers.iter().enumerate() {
                match m.effect {
                    Effect::HistoSys { .. } => {
                        inputs.push(Input::HistoHi { channel, sample, modifier });
                        inputs.push(Input::HistoLo { channel, sample, modifier });
                    }
                    Effect::NormSys { .. } => {
                        inputs.push(Input::NormHi { channel, sample, modifier });
                        inputs.push(Input::NormLo { channel, sample, modifier });
                    }
                    _ => {}
                }
            }
        }
    }
    for (set, s) in model.parameter_sets.iter().enumerate() {
        match model.parameters[s.range.start].constraint {
            Constraint::Gaussian { .. } => inputs.push(Input::StatError { set }),
            Constraint::Poisson { .. } => inputs.push(Input::ShapeSys { set }),
            Constraint::None => {}
        }
    }
    inputs
}
