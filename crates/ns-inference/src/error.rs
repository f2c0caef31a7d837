//! Errors of analyses. Their messages name the parameter and the remedy.

use ns_core::SessionError;
use thiserror::Error;

/// Why an analysis has no result.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum InferenceError {
    /// The session refused: wrong lengths, no such device, too large.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A parameter name that the model does not have.
    #[error("the model has no parameter '{name}'; {hint}")]
    UnknownParameter {
        /// The name asked for.
        name: String,
        /// Similar names, or some of those that there are.
        hint: String,
    },
    /// The analysis needs a parameter of interest and the model has none.
    #[error(
        "{analysis} needs a parameter of interest, and measurement '{measurement}' has none that any modifier uses; \
         name one in its \"config\": {{\"poi\": ...}}"
    )]
    NoPoi {
        /// What was asked for.
        analysis: &'static str,
        /// The measurement.
        measurement: String,
    },
    /// The analysis varies the parameter of interest, and the fit holds it.
    #[error(
        "{analysis} varies the parameter of interest '{name}', which is fixed in this model or by this call; release it \
         (\"fixed\": false in the measurement's \"parameters\", or without fixing it here)"
    )]
    PoiFixed {
        /// What was asked for.
        analysis: &'static str,
        /// The parameter of interest.
        name: String,
    },
    /// A goodness of fit of data that have no saturated model.
    #[error(
        "a goodness of fit compares counts in bins with their expectations; these data are single events"
    )]
    NoSaturatedModel,
    /// A confidence level outside the allowed range.
    #[error("the confidence level is {value}; it must lie between 0.5 and 1, for example 0.95")]
    ConfidenceLevel {
        /// What was asked for.
        value: f64,
    },
    /// A statistic that the analysis cannot use.
    #[error(
        "{analysis} cannot use the statistic {statistic}, which tests the absence of a signal; use qtilde or q"
    )]
    WrongStatistic {
        /// What was asked for.
        analysis: &'static str,
        /// The statistic.
        statistic: &'static str,
    },
    /// A value given for a parameter lies outside its bounds.
    #[error(
        "{what} of parameter '{name}' is {value}, outside its bounds [{lower}, {upper}]; \
         choose a value inside, or widen the bounds in the measurement's \"parameters\""
    )]
    OutOfBounds {
        /// Start value or fixed value.
        what: &'static str,
        /// The parameter.
        name: String,
        /// The value.
        value: f64,
        /// Lower bound.
        lower: f64,
        /// Upper bound.
        upper: f64,
    },
    /// A lower bound above the upper one.
    #[error(
        "the bounds of parameter '{name}' are [{lower}, {upper}]; give a lower bound that is not above the upper one"
    )]
    BadBounds {
        /// The parameter.
        name: String,
        /// Lower bound.
        lower: f64,
        /// Upper bound.
        upper: f64,
    },
    /// A value given for a parameter is NaN or infinite.
    #[error("{what} of parameter '{name}' is {value}; give a finite number")]
    NotFinite {
        /// Start value or fixed value.
        what: &'static str,
        /// The parameter.
        name: String,
        /// The value.
        value: f64,
    },
    /// An interval was asked for a parameter that the fit holds fixed.
    #[error(
        "parameter '{name}' is fixed in this fit, so it has no MINOS interval; release it or leave it out"
    )]
    FixedParameter {
        /// The parameter.
        name: String,
    },
    /// Neither an Asimov set nor toys can be made where the model has a negative expected yield.
    #[error(
        "{purpose}: {place} expects {} events, and an expectation cannot be negative or infinite; check for negative \
         yields or factors there, or bounds that allow them",
        crate::present::significant(*value)
    )]
    Expectation {
        /// What was asked for.
        purpose: &'static str,
        /// Bin and channel.
        place: String,
        /// The expectation.
        value: f64,
    },
    /// A group of parameters with an invalid member.
    #[error("group '{group}': {reason}")]
    Group {
        /// Name of the group.
        group: String,
        /// Which member is wrong, and the remedy.
        reason: String,
        /// Whether a member is not the name of a parameter.
        unknown_name: bool,
    },
    /// The points are not valid for a scan.
    #[error("cannot scan parameter '{name}': {problem}; {remedy}")]
    BadScan {
        /// The parameter.
        name: String,
        /// What is wrong.
        problem: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// An invalid part of a run.
    #[error("'{text}' is no shard; write it as K/N with 1 <= K <= N, for example 3/10")]
    BadShard {
        /// What was given.
        text: String,
    },
    /// A run with no toys, or more than there are random numbers for.
    #[error("{n_toys} toys cannot be run; ask for 1 to {most}")]
    NumberOfToys {
        /// What was asked for.
        n_toys: u64,
        /// The largest number.
        most: u64,
    },
    /// A study of a parameter that is fixed in the fits.
    #[error(
        "parameter '{name}' is fixed in the fits of the toys: there is nothing to study; release it or leave it out"
    )]
    NothingToStudy {
        /// The parameter.
        name: String,
    },
    /// Toys of different runs cannot be combined.
    #[error(
        "these toys do not belong to one run: {what} is {ours} in one and {theirs} in the other; run them again with the \
         same model, data, options, seed and version"
    )]
    ForeignToys {
        /// What differs.
        what: String,
        /// Its value on this side.
        ours: String,
        /// Its value on the other side.
        theirs: String,
    },
    /// A file of toys that cannot be read or written.
    #[error("toy file '{path}': {problem}")]
    ToyFile {
        /// Where it is.
        path: String,
        /// What is wrong, and the remedy.
        problem: String,
    },
    /// The fit could not even start.
    #[error("{reason}")]
    FitFailed {
        /// Where the likelihood is not finite, and what to do.
        reason: String,
    },
    /// The caller asked to stop before there was a result.
    #[error("interrupted before the fit finished")]
    Cancelled,
}

impl InferenceError {
    /// Whether the message should refer to the list of the model's parameters; command line and Python get it in different ways.
    #[must_use]
    pub const fn is_unknown_name(&self) -> bool {
        matches!(self, Self::UnknownParameter { .. } | Self::Group { unknown_name: true, .. })
    }
}
