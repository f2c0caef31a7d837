//! Errors: what ends one fit, and what ends a whole call.

use thiserror::Error;

use crate::Device;

/// Why one fit has no result. The other fits of its batch go on.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum FitFailure {
    /// No start point gave a finite likelihood.
    #[error(
        "the likelihood is not finite at any start point: bin {bin} expects {expected:e} but {observed} were observed"
    )]
    NotFinite {
        /// Global index of the first offending bin.
        bin: usize,
        /// Expected yield there at the start point.
        expected: f64,
        /// Observed count there.
        observed: f64,
    },
    /// A constraint term is not finite at any start point.
    #[error(
        "the constraint term of parameter {parameter} is not finite at any start point (value {value:e})"
    )]
    ConstraintNotFinite {
        /// Index of the parameter.
        parameter: usize,
        /// Its value.
        value: f64,
    },
    /// An earlier fit of the task already decided what this one was for.
    #[error("not needed: an earlier fit of the task decides")]
    NotNeeded,
    /// The batch was cancelled before this fit.
    #[error("cancelled before this fit")]
    Cancelled,
}

/// What makes a whole call impossible.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum SessionError {
    /// An array does not have the length that the model asks for.
    #[error("{what} has {actual} elements; the model needs {expected}")]
    WrongLength {
        /// Which array.
        what: &'static str,
        /// Its length.
        actual: usize,
        /// The length needed.
        expected: usize,
    },
    /// A number given from outside is NaN or infinite, or data are negative where they cannot be.
    #[error("{what}[{index}] is {value}; {remedy}")]
    BadNumber {
        /// Which array.
        what: &'static str,
        /// Position.
        index: usize,
        /// The number.
        value: f64,
        /// What would be right.
        remedy: &'static str,
    },
    /// A parameter index is out of range.
    #[error("parameter index {index} is out of range: the model has {n_parameters} parameters")]
    NoSuchParameter {
        /// The index.
        index: usize,
        /// How many there are.
        n_parameters: usize,
    },
    /// Toys cannot be drawn: a bin or an auxiliary count expects less than nothing, or too much.
    #[error("cannot draw toys: {what}[{index}] expects {mean}; a Poisson mean lies between 0 and 1e15")]
    BadMean {
        /// Main or auxiliary data.
        what: &'static str,
        /// Position.
        index: usize,
        /// The expectation.
        mean: f64,
    },
    /// The device cannot be used.
    #[error("device {device} is not available: {reason}. {remedy}")]
    DeviceUnavailable {
        /// The device asked for.
        device: Device,
        /// Why not.
        reason: String,
        /// What to do about it.
        remedy: String,
    },
    /// A device and the processor find different numbers at the same point.
    #[error(
        "device {device} and the processor disagree: {what} of fit {index} differs by {difference:e}, where {tolerance:e} is \
         allowed. Nothing of this run is to be trusted; run it again with --device cpu, and please report it with the \
         model and the device's name"
    )]
    DeviceDisagrees {
        /// The device.
        device: Device,
        /// Which quantity.
        what: &'static str,
        /// Number of the fit within its batch.
        index: usize,
        /// The difference.
        difference: f64,
        /// What the parity contract allows.
        tolerance: f64,
    },
    /// The session does not know this kind of data.
    #[error("this session cannot use data of this kind; {remedy}")]
    ForeignData {
        /// What to do about it.
        remedy: &'static str,
    },
    /// The model is too large for the device or for the memory limit.
    #[error("{what} needs {needed} bytes, more than the limit of {limit}")]
    TooLarge {
        /// What does not fit.
        what: String,
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
    },
}
