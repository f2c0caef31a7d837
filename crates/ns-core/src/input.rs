//! Inputs of a model: numbers that data may replace, so that every fit can have its own.
//!
//! [`Model::open`](crate::Model::open) chooses them. [`Data::with_yields`](crate::Data::with_yields) gives values for them, and
//! [`Session::pull_back`](crate::Session::pull_back) derivatives by them.

use std::ops::Range;

use thiserror::Error;

/// One array of numbers of a model that data may replace. Channels, samples, modifiers and parameter sets are
/// given by their indices in the [`Model`](crate::Model).
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
        /// Index in [`Model::parameter_sets`](crate::Model::parameter_sets).
        set: usize,
    },
    /// Relative uncertainties `1/sqrt(tau)` of the Poisson constraints of a parameter set (of a shapesys), one
    /// positive number per parameter. The number of a parameter without such a constraint is not used.
    ShapeSys {
        /// Index in [`Model::parameter_sets`](crate::Model::parameter_sets).
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
    /// The inputs, in the order of the field `open` of [`crate::Model`].
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
