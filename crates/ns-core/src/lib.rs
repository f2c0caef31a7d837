//! Shared types of NextStat: the physics [`Model`], numeric [`Data`], the [`Session`] trait that every
//! device implements, fit outcomes, the settings, progress and cancellation of a run, and [`random`] numbers.
//!
//! This crate contains no code for file formats, devices or statistics.

mod check;
mod check_events;
mod control;
mod correlations;
mod data;
mod digest;
mod error;
mod event_source;
mod events;
mod execution;
mod input;
mod interpolation;
mod inverse;
mod jumps;
mod kinks;
mod log_prob;
mod model;
mod number;
mod observations;
mod open;
mod outcome;
mod parameter;
mod plain;
pub mod random;
mod session;
mod toys;

pub use check::{DeviceCheck, Difference, LeftToCpu};
pub use check_events::EventModelError;
pub use control::{Control, Observer};
pub use correlations::{CorrelationError, Correlations};
pub use data::{Data, Drawn, Expected, Seen, Yields};
pub use digest::Digest;
pub use error::{EXPECTED, FitFailure, SessionError};
pub use event_source::{DrawEvents, EventColumns, EventSource, NotDrawn};
pub use events::{
    BinRule, Binning, ConditionalDensity, Convolution, Decay, DecaySides, Density, EventChannel, EventTable,
    Function, FunctionForm, Given, InterpolationForm, LogDensity, Measured, Observable, Op, Oscillation,
    ParquetEventData, Penalty, PenaltyForm, Process, Projection, RowGroups, Smearing, Special, Tail, Tape,
    TapeError, Value, WeightSys, function_values,
};
pub use execution::{Device, Execution, Precision, parse_bytes};
pub use input::{Input, InputError, InputTable, Pulled};
pub use interpolation::{HistosysCode, Interpolation, NormsysCode, UnknownCode};
pub use inverse::{Covariance, FactoredHessian, InverseHessian};
pub use jumps::DensityJump;
pub use log_prob::{
    Base, BoxIntegral, GradientMethod, LogProb, LogProbError, NetworkEvaluation, SharedLogProb,
};
pub use model::{Channel, ChannelAxis, Effect, Model, ModelFormat, Modifier, Sample};
pub use number::exact;
pub use observations::Observations;
pub use outcome::{
    Certificate, FitOutcome, FitStatus, INTEGRAL_TOLERANCE, Inactive, IntegralError, Reason, TaskOutcome,
};
pub use parameter::{Constraint, Parameter, ParameterSet};
pub use plain::{plain, plain_lines};
pub use session::{
    Condition, Evaluation, EvaluationRequest, FitRequest, FitTask, OutcomeParts, ParameterTable, Search,
    Session, Sink, SquaredWeights, Start,
};
pub use toys::{AuxiliarySource, JointSource, ToySource};
