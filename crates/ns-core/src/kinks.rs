//! Finds the parameters at which event-level models have kinks, and makes models without kinks.

use crate::{FunctionForm, Model, Value};

impl Model {
    /// Returns the parameters for which the likelihood terms of events have a kink at the value 0. These are nuisance
    /// parameters whose effect, on weights of events or on other numbers, has interpolation code 0 or 1. The result is
    /// sorted and has no duplicates.
    #[must_use]
    pub fn event_kinks(&self) -> Vec<usize> {
        let mut kinks = Vec::new();
        let densities = self.event_channels.iter().flat_map(|channel| &channel.processes);
        densities.for_each(|process| process.density.kinks(&mut kinks));
        for function in &self.functions {
            let FunctionForm::Interpolation { nominal, variations, .. } = &function.form else { continue };
            for v in variations {
                let kinked = match v.code {
                    0 => v.hi - nominal != nominal - v.lo,
                    1 => v.hi * v.lo != nominal * nominal,
                    _ => false,
                };
                if let (true, Value::Parameter(p)) = (kinked, v.alpha) {
                    kinks.push(p);
                }
            }
        }
        kinks.sort_unstable();
        kinks.dedup();
        kinks
    }

    /// Returns a copy of the model in which each interpolation code is replaced by the closest smooth code. The effect
    /// of every parameter is the same as before at the parameter values -1, 0 and 1.
    #[must_use]
    pub fn with_smooth_codes(&self) -> Self {
        let mut model = Self { interpolation: self.interpolation.smooth(), ..self.clone() };
        for process in model.event_channels.iter_mut().flat_map(|channel| &mut channel.processes) {
            process.density.smooth_codes();
        }
        for function in &mut model.functions {
            if let FunctionForm::Interpolation { variations, .. } = &mut function.form {
                for v in variations {
                    v.code = match v.code {
                        0 => 4,
                        1 => 5,
                        other => other,
                    };
                }
            }
        }
        model
    }
}
