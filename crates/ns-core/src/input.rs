//! Inputs of a model: numbers that data may replace, so that every fit can have its own.
//!
//! [`Model::open`] chooses them. [`Data::with_yields`](crate::Data::with_yields) gives values for them, and
//! [`Session::pull_back`](crate::Session::pull_back) derivatives by them.

use std::ops::Range;

use thiserror::Error;

use crate::{Constraint, Effect, Model, Sample};

/// One array of numbers of a model that data may replace. Channels, samples, modifiers and parameter sets are
/// given by their indices in the [`Model`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Input {
    /// Nominal yields of a sample in a channel, one number per bin. The histosys templates of the sample do
    /// not change with them.
    Nominal {
        /// Index of the channel.
        channel: usize,
        /// Index of the sample in the channel.
        sample: usize,
    },
    /// Yields of a histosys at alpha = +1, one number per bin.
    HistoHi {
        /// Index of the channel.
        channel: usize,
        /// Index of the sample in the channel.
        sample: usize,
        /// Index of the modifier in the sample.
        modifier: usize,
    },
    /// Yields of a histosys at alpha = -1, one number per bin.
    HistoLo {
        /// Index of the channel.
        channel: usize,
        /// Index of the sample in the channel.
        sample: usize,
        /// Index of the modifier in the sample.
        modifier: usize,
    },
    /// Factor of a normsys at alpha = +1, one positive number.
    NormHi {
        /// Index of the channel.
        channel: usize,
        /// Index of the sample in the channel.
        sample: usize,
        /// Index of the modifier in the sample.
        modifier: usize,
    },
    /// Factor of a normsys at alpha = -1, one positive number.
    NormLo {
        /// Index of the channel.
        channel: usize,
        /// Index of the sample in the channel.
        sample: usize,
        /// Index of the modifier in the sample.
        modifier: usize,
    },
    /// Widths of the Gaussian constraints of a parameter set (of a staterror: relative uncertainties), one
    /// positive number per parameter. The number of a parameter without such a constraint is not used.
    StatError {
        /// Index in [`Model::parameter_sets`].
        set: usize,
    },
    /// Relative uncertainties `1/sqrt(tau)` of the Poisson constraints of a parameter set (of a shapesys), one
    /// positive number per parameter. The number of a parameter without such a constraint is not used.
    ShapeSys {
        /// Index in [`Model::parameter_sets`].
        set: usize,
    },
}

/// Why a model cannot open an input.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InputError {
    /// The model has no such channel, sample, modifier or parameter set.
    #[error(
        "input {input:?}: the model has no such {what}; take indices of its channels, samples and modifiers"
    )]
    NoSuch {
        /// The input.
        input: Input,
        /// What the model does not have.
        what: &'static str,
    },
    /// The modifier is of another type.
    #[error("input {input:?}: the modifier is a {found}; name a {wanted}")]
    OtherModifier {
        /// The input.
        input: Input,
        /// Type of the modifier.
        found: &'static str,
        /// Type that the input needs.
        wanted: &'static str,
    },
    /// No parameter of the set has a constraint of the needed kind.
    #[error("input {input:?}: no parameter of the set '{set}' has a {wanted} constraint; name another set")]
    OtherConstraint {
        /// The input.
        input: Input,
        /// Name of the parameter set.
        set: String,
        /// Kind of constraint that the input needs.
        wanted: &'static str,
    },
    /// The input was given twice.
    #[error("input {input:?} is given twice; give it once")]
    Twice {
        /// The input.
        input: Input,
    },
}

/// The inputs of a session: their order, places and compiled values.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct InputTable {
    /// The inputs, in the order of [`Model::open`].
    pub inputs: Vec<Input>,
    /// Place of each input among all numbers.
    pub ranges: Vec<Range<usize>>,
    /// The compiled numbers of all inputs, one input after another.
    pub values: Vec<f64>,
}

impl InputTable {
    /// Returns the number of numbers of all inputs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns whether there are no inputs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty()
    }

    /// Returns the place of an input among all numbers; `None` if the model does not have it.
    #[must_use]
    pub fn range(&self, input: Input) -> Option<Range<usize>> {
        let index = self.inputs.iter().position(|&other| other == input)?;
        self.ranges.get(index).cloned()
    }
}

/// Derivatives of `-ln L`, or of a directional derivative of it, by everything but the parameters.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pulled {
    /// By the numbers of all inputs, in the order of [`InputTable::values`].
    pub yields: Vec<f64>,
    /// By the main counts.
    pub main: Vec<f64>,
    /// By the auxiliary data.
    pub aux: Vec<f64>,
}

impl Model {
    /// Returns the model with these inputs, in this order, instead of those that it had.
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

    /// Returns the nominal yields of all samples with this name, channel after channel, as inputs.
    #[must_use]
    pub fn nominal_inputs(&self, name: &str) -> Vec<Input> {
        let channels = self.channels.iter().enumerate();
        let found = channels.flat_map(|(channel, c)| {
            let samples = c.samples.iter().enumerate().filter(|(_, s)| s.name == name);
            samples.map(move |(sample, _)| Input::Nominal { channel, sample })
        });
        found.collect()
    }

    /// Returns the inputs of the model with the numbers that it has.
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

    /// Returns the numbers of an input.
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

    /// Returns the widths of the constraints of a parameter set; 0 for parameters without such a constraint.
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
