//! Errors of analyses. Each message names the cause, such as a parameter, and says what to do.

use ns_core::{ModelFormat, SessionError};
use thiserror::Error;

use crate::present::exact;
use crate::words;

/// The reason why an analysis has no result.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum InferenceError {
    /// The session returned an error, such as wrong lengths or an unavailable device.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The model has no parameter of the given name.
    #[error("the model has no parameter '{name}'; {hint}")]
    UnknownParameter {
        /// The given name.
        name: String,
        /// Similar parameter names of the model; if there are none, its first parameter names.
        hint: String,
    },
    /// A derived quantity cannot be computed.
    #[error("the derived quantity '{name}': {problem}")]
    Derived {
        /// Name of the quantity.
        name: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// The analysis needs a parameter of interest and the model has none.
    #[error(
        "{analysis} needs a parameter of interest, and {}",
        words::without_poi(*format, measurement)
    )]
    NoPoi {
        /// Name of the requested analysis.
        analysis: &'static str,
        /// Name of the measurement.
        measurement: String,
        /// Format of the model's file.
        format: ModelFormat,
    },
    /// The analysis fits the observed data, but channels have no observed counts.
    #[error(
        "no observed counts of {}; add them to the observations of the workspace, give data, or fit Asimov data",
        channels.join(", ")
    )]
    Unobserved {
        /// Names of the channels.
        channels: Vec<String>,
    },
    /// The data of blinded channels cannot be made, or an analysis has no meaning with them.
    #[error("cannot blind channels: {problem}")]
    CannotBlind {
        /// What is wrong, and what to do.
        problem: String,
    },
    /// The analysis varies the POI, but the POI is fixed in the fit.
    #[error(
        "{analysis} varies the parameter of interest '{name}', which is fixed in this model or by this call; release it \
         ({}, or without fixing it here)",
        words::release(*format)
    )]
    PoiFixed {
        /// Name of the requested analysis.
        analysis: &'static str,
        /// Name of the POI.
        name: String,
        /// Format of the model's file.
        format: ModelFormat,
    },
    /// A test statistic of a goodness of fit cannot be computed for the events of a model.
    #[error("the statistic {statistic} cannot be computed: {reason}")]
    NoEventStatistic {
        /// Name of the statistic.
        statistic: &'static str,
        /// The reason, and the remedy.
        reason: String,
    },
    /// The sPlot weights do not exist.
    #[error("there are no sPlot weights: {reason}")]
    NoSplot {
        /// The reason why the weights do not exist.
        reason: String,
    },
    /// Toys of an event channel cannot be drawn.
    #[error("toys cannot be drawn: the density of event channel '{channel}' {problem}")]
    CannotSample {
        /// Name of the event channel.
        channel: String,
        /// What is wrong with the density, and what to do.
        problem: &'static str,
    },
    /// The confidence level lies outside the allowed range.
    #[error("the confidence level is {}; it must lie between 0.5 and 1, for example 0.95", exact(*value))]
    ConfidenceLevel {
        /// The given confidence level.
        value: f64,
    },
    /// A scan has too many levels of contours or intervals.
    #[error("{n} levels of contours are more than {most}; ask for fewer")]
    NumberOfLevels {
        /// Requested number of levels.
        n: usize,
        /// Largest allowed number of levels.
        most: usize,
    },
    /// The confidence level of a contour or interval does not lie between 0 and 1.
    #[error("the confidence level is {}; it is a probability between 0 and 1, for example 0.95", exact(*value))]
    ContourLevel {
        /// The given level.
        value: f64,
    },
    /// The analysis cannot use q0, the statistic that tests the background-only hypothesis.
    #[error(
        "{analysis} cannot use the statistic {statistic}, which tests the absence of a signal; use qtilde or q"
    )]
    WrongStatistic {
        /// Name of the requested analysis.
        analysis: &'static str,
        /// Name of the test statistic.
        statistic: &'static str,
    },
    /// A value given for a parameter lies outside its bounds.
    #[error(
        "{what} of parameter '{name}' is {}, outside its bounds [{}, {}]; \
         choose a value inside, or widen the bounds in {}",
        exact(*value),
        exact(*lower),
        exact(*upper),
        words::bounds(*format)
    )]
    OutOfBounds {
        /// Role of the value, such as start value or fixed value.
        what: &'static str,
        /// Name of the parameter.
        name: String,
        /// The given value.
        value: f64,
        /// Lower bound.
        lower: f64,
        /// Upper bound.
        upper: f64,
        /// Format of the model's file.
        format: ModelFormat,
    },
    /// A parameter has a lower bound above its upper bound.
    #[error(
        "the bounds of parameter '{name}' are [{}, {}]; give a lower bound that is not above the upper one",
        exact(*lower),
        exact(*upper)
    )]
    BadBounds {
        /// Name of the parameter.
        name: String,
        /// Lower bound.
        lower: f64,
        /// Upper bound.
        upper: f64,
    },
    /// The accepted relative error of integrals does not lie between 0 and 1.
    #[error(
        "the accepted relative error of integrals (the integral tolerance) is {}; give a number between 0 and 1, for \
         example 1e-6",
        exact(*value)
    )]
    BadIntegralTolerance {
        /// The given value.
        value: f64,
    },
    /// A value given for a parameter is NaN or infinite.
    #[error("{what} of parameter '{name}' is {}; give a finite number", exact(*value))]
    NotFinite {
        /// Role of the value, such as start value or fixed value.
        what: &'static str,
        /// Name of the parameter.
        name: String,
        /// The given value.
        value: f64,
    },
    /// A MINOS interval was requested for a parameter, but the parameter is fixed in the fit.
    #[error(
        "parameter '{name}' is fixed in this fit, so it has no MINOS interval; release it or leave it out"
    )]
    FixedParameter {
        /// Name of the parameter.
        name: String,
    },
    /// Neither Asimov data nor toys can be generated, because the expected yield of a bin is negative or infinite.
    #[error(
        "{purpose}: {place} expects {} events, and an expectation cannot be negative or infinite; check for negative \
         yields or factors there, or bounds that allow them",
        crate::present::significant(*value)
    )]
    Expectation {
        /// Beginning of the error message. It says what cannot be generated, such as Asimov data or toys.
        purpose: &'static str,
        /// The bin and its channel, as in `bin 2 of channel 'SR'`.
        place: String,
        /// Expected yield of the bin.
        value: f64,
    },
    /// Asimov data cannot be generated, because the density of events is negative or infinite somewhere.
    #[error(
        "{purpose}: the density of an event with {event} in event channel '{channel}' is {}, and a density cannot be \
         negative or infinite; check the coefficients of its processes, or bounds that allow them",
        crate::present::significant(*value)
    )]
    Density {
        /// Beginning of the error message. It says what cannot be generated.
        purpose: &'static str,
        /// Name of the event channel.
        channel: String,
        /// Values of the observables of the event, as in `m = 125`.
        event: String,
        /// The density of the event.
        value: f64,
    },
    /// A member of a group of parameters is invalid.
    #[error("group '{group}': {reason}")]
    Group {
        /// Name of the group.
        group: String,
        /// What is wrong with the member, and the remedy.
        reason: String,
        /// Whether the reason is an unknown name, i.e. a member that is neither a parameter name nor a pattern that
        /// matches one.
        unknown_name: bool,
    },
    /// The values at which a scan should be made are not valid.
    #[error("cannot scan parameter '{name}': {problem}; {remedy}")]
    BadScan {
        /// Name of the parameter.
        name: String,
        /// Description of what is wrong with the points of the scan.
        problem: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// The point of a test is not valid.
    #[error("the tested point is not valid: {problem}")]
    BadPoint {
        /// What is wrong with the list of values, and what to do.
        problem: String,
    },
    /// The settings of a confidence interval are not valid.
    #[error("the interval cannot be searched: {problem}")]
    BadInterval {
        /// What is wrong with the settings, and what to do.
        problem: String,
    },
    /// The settings of a confidence region are not valid.
    #[error("the region cannot be searched: {problem}")]
    BadRegion {
        /// What is wrong with the settings, and what to do.
        problem: String,
    },
    /// The settings of a search at many places are not valid.
    #[error("the places cannot be searched: {problem}")]
    BadPlaces {
        /// What is wrong with the settings, and what to do.
        problem: String,
    },
    /// The settings of a sample of the posterior are not valid.
    #[error("the posterior cannot be sampled: {problem}")]
    BadPosterior {
        /// What is wrong with the settings, and what to do.
        problem: String,
    },
    /// A chain of a sample of the posterior ended early.
    #[error("chain {chain} ended early: {reason}")]
    Sampling {
        /// Number of the chain. The first has the number 1.
        chain: usize,
        /// Why it ended.
        reason: String,
    },
    /// A parameter cannot have a value of its own in each channel.
    #[error("parameter '{name}' cannot be split by channel: {problem}")]
    CannotSplit {
        /// Name of the parameter.
        name: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// A model has no simplified likelihood.
    #[error("the likelihood cannot be simplified: {problem}")]
    CannotSimplify {
        /// What is wrong, and what to do.
        problem: String,
    },
    /// The data cannot be unfolded.
    #[error("the data cannot be unfolded: {problem}")]
    CannotUnfold {
        /// What is wrong, and what to do.
        problem: String,
    },
    /// A text does not describe a valid shard. A shard is one of N equal parts of a run of toys, written as K/N.
    #[error("'{text}' is no shard; write it as K/N with 1 <= K <= N, for example 3/10")]
    BadShard {
        /// The given text.
        text: String,
    },
    /// The number of toys is 0 or too large. There are random numbers for up to `most` toys.
    #[error("{n_toys} toys cannot be run; ask for 1 to {most}")]
    NumberOfToys {
        /// Requested number of toys.
        n_toys: u64,
        /// Largest allowed number of toys.
        most: u64,
    },
    /// A study of fits to toys was requested for a parameter, but the parameter is fixed in these fits.
    #[error(
        "parameter '{name}' is fixed in the fits of the toys: there is nothing to study; release it or leave it out"
    )]
    NothingToStudy {
        /// Name of the parameter.
        name: String,
    },
    /// Toys cannot be combined because they belong to different runs.
    #[error(
        "these toys do not belong to one run: {what} is {ours} in one and {theirs} in the other; run them again with the \
         same model, data, options, seed and version"
    )]
    ForeignToys {
        /// Name of the setting that differs between the two runs.
        what: String,
        /// Value of the setting in the first run.
        ours: String,
        /// Value of the setting in the other run.
        theirs: String,
    },
    /// A file of toys cannot be read or written.
    #[error("toy file '{path}': {problem}")]
    ToyFile {
        /// Path of the file.
        path: String,
        /// The problem and the remedy.
        problem: String,
    },
    /// The analysis needs a fit that failed, or Asimov data that cannot be generated.
    #[error("{reason}")]
    FitFailed {
        /// Complete message, with the cause and the remedy.
        reason: String,
    },
    /// The caller stopped the work before the analysis had a result.
    #[error("interrupted before the fit finished")]
    Cancelled,
}

impl InferenceError {
    /// Returns whether the error is about a parameter name that does not exist. If it is, callers add to the message
    /// how the user can list the parameters, which differs between the command line and the server.
    #[must_use]
    pub const fn is_unknown_name(&self) -> bool {
        matches!(self, Self::UnknownParameter { .. } | Self::Group { unknown_name: true, .. })
    }
}
