//! Opens inputs of a model, i.e. arrays of numbers such as nominal yields, and reads the values that they have in the
//! model. Data may replace the numbers of an open input.

use crate::input::{Input, InputError, InputTable};
use crate::model::{Effect, Model, Sample};
use crate::parameter::Constraint;

impl Model {
    /// Returns a copy of the model in which exactly these inputs are open, in this order.
    ///
    /// # Errors
    /// [`InputError`] if the model does not have an input, or an input is given twice.
    pub fn open(&self, inputs: &[Input]) -> Result<Self, InputError> {
        for (index, &input) in inputs.iter().enumerate() {
            self.values_of(input)?;
            if inputs.iter().take(index).any(|&other| other == input) {
                return Err(InputError::Twice { input });
            }
        }
        Ok(Self { open: inputs.to_vec(), ..self.clone() })
    }

    /// Returns the inputs that stand for the nominal yields of all samples with this name, channel after channel.
    #[must_use]
    pub fn nominal_inputs(&self, name: &str) -> Vec<Input> {
        let channels = self.channels.iter().enumerate();
        let found = channels.flat_map(|(channel, c)| {
            let samples = c.samples.iter().enumerate().filter(|(_, s)| s.name == name);
            samples.map(move |(sample, _)| Input::Nominal { channel, sample })
        });
        found.collect()
    }

    /// Returns the open inputs (arrays of numbers that data may replace) with the values that they have in the model.
    ///
    /// # Errors
    /// [`InputError`] if the model does not have an input.
    pub fn input_table(&self) -> Result<InputTable, InputError> {
        let mut table = InputTable { inputs: self.open.clone(), ..InputTable::default() };
        for &input in &self.open {
            let start = table.values.len();
            table.values.extend(self.values_of(input)?);
            table.ranges.push(start..table.values.len());
        }
        Ok(table)
    }

    /// Returns the values that an input (array of numbers) has in the model.
    fn values_of(&self, input: Input) -> Result<Vec<f64>, InputError> {
        let no = |what| InputError::NoSuch { input, what };
        let sample_of = |channel: usize, sample: usize| {
            let channel = self.channels.get(channel).ok_or(no("channel"))?;
            channel.samples.get(sample).ok_or(no("sample"))
        };
        let effect_of = |channel, sample, modifier: usize, wanted| {
            let sample: &Sample = sample_of(channel, sample)?;
            let effect = &sample.modifiers.get(modifier).ok_or(no("modifier"))?.effect;
            match effect.type_name() == wanted {
                true => Ok(effect),
                false => Err(InputError::OtherModifier { input, found: effect.type_name(), wanted }),
            }
        };
        Ok(match input {
            Input::Nominal { channel, sample } => sample_of(channel, sample)?.nominal.clone(),
            Input::HistoHi { channel, sample, modifier } | Input::HistoLo { channel, sample, modifier } => {
                match effect_of(channel, sample, modifier, "histosys")? {
                    Effect::HistoSys { lo, hi } => {
                        if matches!(input, Input::HistoHi { .. }) {
                            hi.clone()
                        } else {
                            lo.clone()
                        }
                    }
                    _ => Vec::new(),
                }
            }
            Input::NormHi { channel, sample, modifier } | Input::NormLo { channel, sample, modifier } => {
                match effect_of(channel, sample, modifier, "normsys")? {
                    Effect::NormSys { lo, hi } => {
                        vec![if matches!(input, Input::NormHi { .. }) { *hi } else { *lo }]
                    }
                    _ => Vec::new(),
                }
            }
            Input::StatError { set } => {
                self.widths(input, set, "Gaussian", |constraint| match constraint {
                    Constraint::Gaussian { sigma, .. } => Some(sigma),
                    _ => None,
                })?
            }
            Input::ShapeSys { set } => self.widths(input, set, "Poisson", |constraint| match constraint {
                Constraint::Poisson { .. } => constraint.prefit_sigma(),
                _ => None,
            })?,
        })
    }

    /// Returns the constraint widths of the parameters of a set, one number per parameter. `width` returns the width
    /// of a constraint, or `None` if the constraint is not of the type `wanted` ("Gaussian" or "Poisson"). A
    /// parameter without such a constraint has 0 in the list.
    fn widths(
        &self,
        input: Input,
        set: usize,
        wanted: &'static str,
        width: impl Fn(Constraint) -> Option<f64>,
    ) -> Result<Vec<f64>, InputError> {
        let set = self.parameter_sets.get(set).ok_or(InputError::NoSuch { input, what: "parameter set" })?;
        let parameters = self.parameters.get(set.range.clone()).unwrap_or_default();
        let widths: Vec<Option<f64>> = parameters.iter().map(|p| width(p.constraint)).collect();
        if widths.iter().all(Option::is_none) {
            return Err(InputError::OtherConstraint { input, set: set.name.clone(), wanted });
        }
        Ok(widths.into_iter().map(|w| w.unwrap_or(0.0)).collect())
    }
}
