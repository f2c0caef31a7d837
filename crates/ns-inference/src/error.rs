//! Errors of analyses. Their messages give the parameter and the remedy.

use ns_core::SessionError;
use thiserror::Error;

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
    /// The analysis needs a parameter of interest and the model has none.
    #[error(
        "{analysis} needs a parameter of interest, and measurement '{measurement}' has none that any modifier uses; \
         name one in its \"config\": {{\"poi\": ...}}"
    )]
    NoPoi {
        /// The requested analysis.
        analysis: &'static str,
        /// Name of the measurement.
        measurement: String,
    },
    /// The analysis varies the POI, but the POI is fixed in the fit.
    #[error(
        "{analysis} varies the parameter of interest '{name}', which is fixed in this model or by this call; release it \
         (\"fixed\": false in the measurement's \"parameters\", or without fixing it here)"
    )]
    PoiFixed {
        /// The requested analysis.
        analysis: &'static str,
        /// Name of the POI.
        name: String,
    },
    /// A statistic cannot be computed for the events of a model.
    #[error("the statistic {statistic} cannot be computed: {reason}")]
    NoEventStatistic {
        /// The statistic.
        statistic: &'static str,
        /// The reason, and the remedy.
        reason: String,
    },
    /// There are no sPlot weights.
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
    #[error("the confidence level is {value}; it must lie between 0.5 and 1, for example 0.95")]
    ConfidenceLevel {
        /// The given confidence level.
        value: f64,
    },
    /// The analysis cannot use the given test statistic, which tests the background-only hypothesis.
    #[error(
        "{analysis} cannot use the statistic {statistic}, which tests the absence of a signal; use qtilde or q"
    )]
    WrongStatistic {
        /// The requested analysis.
        analysis: &'static str,
        /// Name of the test statistic.
        statistic: &'static str,
    },
    /// A value given for a parameter lies outside its bounds.
    #[error(
        "{what} of parameter '{name}' is {value}, outside its bounds [{lower}, {upper}]; \
         choose a value inside, or widen the bounds in the measurement's \"parameters\""
    )]
    OutOfBounds {
        /// Kind of value, such as start or fixed value.
        what: &'static str,
        /// Name of the parameter.
        name: String,
        /// The given value.
        value: f64,
        /// Lower bound.
        lower: f64,
        /// Upper bound.
        upper: f64,
    },
    /// A parameter has a lower bound above its upper bound.
    #[error(
        "the bounds of parameter '{name}' are [{lower}, {upper}]; give a lower bound that is not above the upper one"
    )]
    BadBounds {
        /// Name of the parameter.
        name: String,
        /// Lower bound.
        lower: f64,
        /// Upper bound.
        upper: f64,
    },
    /// A value given for a parameter is NaN or infinite.
    #[error("{what} of parameter '{name}' is {value}; give a finite number")]
    NotFinite {
        /// Kind of value, such as start or fixed value.
        what: &'static str,
        /// Name of the parameter.
        name: String,
        /// The given value.
        value: f64,
    },
    /// A MINOS interval was asked for, but its parameter is fixed in the fit.
    #[error(
        "parameter '{name}' is fixed in this fit, so it has no MINOS interval; release it or leave it out"
    )]
    FixedParameter {
        /// Name of the parameter.
        name: String,
    },
    /// Neither Asimov data nor toys can be generated at a point at which the expected yield of a bin is
    /// negative or infinite.
    #[error(
        "{purpose}: {place} expects {} events, and an expectation cannot be negative or infinite; check for negative \
         yields or factors there, or bounds that allow them",
        crate::present::significant(*value)
    )]
    Expectation {
        /// What cannot be made, such as Asimov data or toys. It is the beginning of the message.
        purpose: &'static str,
        /// The bin and its channel, as in `bin 2 of channel 'SR'`.
        place: String,
        /// Expected yield of the bin.
        value: f64,
    },
    /// A group of parameters has an invalid member.
    #[error("group '{group}': {reason}")]
    Group {
        /// Name of the group.
        group: String,
        /// What is wrong with the member, and the remedy.
        reason: String,
        /// True if a member is neither the name of a parameter nor a pattern that matches one.
        unknown_name: bool,
    },
    /// The points of a scan are not valid.
    #[error("cannot scan parameter '{name}': {problem}; {remedy}")]
    BadScan {
        /// Name of the parameter.
        name: String,
        /// The problem.
        problem: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// A text does not describe a valid shard, i.e. one of N equal parts of a run of toys, written as K/N.
    #[error("'{text}' is no shard; write it as K/N with 1 <= K <= N, for example 3/10")]
    BadShard {
        /// The given text.
        text: String,
    },
    /// The number of toys is 0, or larger than the number of toys for which there are random numbers.
    #[error("{n_toys} toys cannot be run; ask for 1 to {most}")]
    NumberOfToys {
        /// The requested number.
        n_toys: u64,
        /// The largest possible number.
        most: u64,
    },
    /// A parameter was given for a study of fits to toys, but is fixed in these fits.
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
        /// The setting that differs between the two runs.
        what: String,
        /// Its value in the first run.
        ours: String,
        /// Its value in the other run.
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
    /// A fit or a set of Asimov data that the analysis needs cannot be made.
    #[error("{reason}")]
    FitFailed {
        /// Complete message, with cause and remedy.
        reason: String,
    },
    /// The caller stopped the work before there was a result.
    #[error("interrupted before the fit finished")]
    Cancelled,
}

impl InferenceError {
    /// Returns whether the message should refer to the list of parameters. The command line and Python show
    /// this list in different ways.
    #[must_use]
    pub const fn is_unknown_name(&self) -> bool {
        matches!(self, Self::UnknownParameter { .. } | Self::Group { unknown_name: true, .. })
    }
}
