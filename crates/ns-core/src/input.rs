//! Inputs of a model: arrays of numbers, such as nominal yields, that data may replace. Each fit can use
//! other values.
//!
//! [`Model::open`](crate::Model::open) chooses the inputs. [`Data::with_yields`](crate::Data::with_yields) replaces
//! their values, and [`Session::pull_back`](crate::Session::pull_back) computes derivatives with respect to them.

use std::ops::Range;

use thiserror::Error;

/// One array of numbers of a model that data may replace. Channels, samples, modifiers and parameter sets are
/// given by their indices in the [`Model`](crate::Model).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Input {
    /// Nominal yields of a sample in a channel, one number per bin. Replaced nominal yields leave the
    /// histosys templates of the sample unchanged.
    Nominal {
        /// Index of the channel.
        channel: usize,
        /// Index of the sample in the channel.
        sample: usize,
    },
    /// Yields of a histosys modifier at alpha = +1, one number per bin.
    HistoHi {
        /// Index of the channel.
        channel: usize,
        /// Index of the sample in the channel.
        sample: usize,
        /// Index of the modifier in the sample.
        modifier: usize,
    },
    /// Yields of a histosys modifier at alpha = -1, one number per bin.
    HistoLo {
        /// Index of the channel.
        channel: usize,
        /// Index of the sample in the channel.
        sample: usize,
        /// Index of the modifier in the sample.
        modifier: usize,
    },
    /// Factor of a normsys modifier at alpha = +1, one positive number.
    NormHi {
        /// Index of the channel.
        channel: usize,
        /// Index of the sample in the channel.
        sample: usize,
        /// Index of the modifier in the sample.
        modifier: usize,
    },
    /// Factor of a normsys modifier at alpha = -1, one positive number.
    NormLo {
        /// Index of the channel.
        channel: usize,
        /// Index of the sample in the channel.
        sample: usize,
        /// Index of the modifier in the sample.
        modifier: usize,
    },
    /// Standard deviations of the Gaussian constraints of a parameter set, one positive number per parameter. For a
    /// staterror these are relative uncertainties. Numbers that belong to parameters without a Gaussian constraint are
    /// ignored.
    StatError {
        /// Index of the parameter set in [`Model::parameter_sets`](crate::Model::parameter_sets).
        set: usize,
    },
    /// Relative uncertainties `1/sqrt(tau)` of the Poisson constraints of a shapesys parameter set, one positive number
    /// per parameter. Numbers that belong to parameters without a Poisson constraint are ignored.
    ShapeSys {
        /// Index of the parameter set in [`Model::parameter_sets`](crate::Model::parameter_sets).
        set: usize,
    },
}

/// Reasons why a model cannot open an input.
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
        /// Type of the model component that does not exist, for example "channel".
        what: &'static str,
    },
    /// The modifier has another type than the input needs.
    #[error("input {input:?}: the modifier is a {found}; name a {wanted}")]
    OtherModifier {
        /// The requested input.
        input: Input,
        /// Type of the modifier in the model.
        found: &'static str,
        /// Type of modifier that the input needs.
        wanted: &'static str,
    },
    /// The input needs Gaussian or Poisson constraints, and no parameter of the set has such a constraint.
    #[error("input {input:?}: no parameter of the set '{set}' has a {wanted} constraint; name another set")]
    OtherConstraint {
        /// The input.
        input: Input,
        /// Name of the parameter set.
        set: String,
        /// Type of constraint that the input needs: "Gaussian" or "Poisson".
        wanted: &'static str,
    },
    /// The input was given twice.
    #[error("input {input:?} is given twice; give it once")]
    Twice {
        /// The input.
        input: Input,
    },
}

/// The inputs of a session, in order. The values of all inputs are stored in one array of numbers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct InputTable {
    /// The inputs, in the order of the field `open` of [`crate::Model`].
    pub inputs: Vec<Input>,
    /// For each input, the range of its numbers in [`Self::values`].
    pub ranges: Vec<Range<usize>>,
    /// The values that the inputs have in the model, one input after another.
    pub values: Vec<f64>,
}

impl InputTable {
    /// Returns the number of values of all inputs together.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns whether there are no inputs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty()
    }

    /// Returns the range of an input's numbers in [`Self::values`]; `None` if the input is not open.
    #[must_use]
    pub fn range(&self, input: Input) -> Option<Range<usize>> {
        let index = self.inputs.iter().position(|&other| other == input)?;
        self.ranges.get(index).cloned()
    }
}

/// Derivatives, with respect to inputs and data, of `-ln L` or of a directional derivative of `-ln L`.
/// [`Session::pull_back`](crate::Session::pull_back) returns them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pulled {
    /// Derivatives with respect to the values of all inputs, in the order of [`InputTable::values`].
    pub yields: Vec<f64>,
    /// Derivatives with respect to the main counts, one per main bin.
    pub main: Vec<f64>,
    /// Derivatives with respect to the auxiliary data, one per auxiliary datum.
    pub aux: Vec<f64>,
}
