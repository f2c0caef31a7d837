//! [`LogProb`]: a density that is not a formula, such as a normalising flow.
//!
//! Such a density is evaluated outside the engine. It may depend on a context, i.e. on a list of parameters and
//! functions of parameters. A density without context is evaluated once per data set and once per toy, and the
//! engine reads its logarithm from a column of the events. For a density with context, log-densities and their
//! derivatives are computed again whenever a number of the context changes.

use std::fmt::Debug;
use std::sync::Arc;

/// Errors in the evaluation of a density that is not a formula.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LogProbError {
    /// The logarithm of the density is NaN, or plus infinity.
    #[error(
        "the log-density of '{density}' is {value} for event {event}, at {at:?}; check that the event lies where the density was trained, or train it again"
    )]
    NotANumber {
        /// Name of the density.
        density: String,
        /// Index of the event.
        event: usize,
        /// The features of the event, i.e. the arguments of the density.
        at: Vec<f64>,
        /// The computed value.
        value: f64,
    },
    /// An array has a wrong length.
    #[error("{what} of '{density}' has {actual} numbers where {expected} are needed")]
    WrongLength {
        /// Name of the density.
        density: String,
        /// Name of the array.
        what: &'static str,
        /// Actual length.
        actual: usize,
        /// Required length.
        expected: usize,
    },
    /// The program that evaluates the density failed.
    #[error("'{density}' cannot be evaluated: {cause}")]
    Failed {
        /// Name of the density.
        density: String,
        /// Message of the program.
        cause: String,
    },
    /// The density cannot be normalised over the fit range.
    #[error("'{density}' cannot be normalised over the fit range: {cause}")]
    NotNormalised {
        /// Name of the density.
        density: String,
        /// The reason, and what the user can do.
        cause: String,
    },
}

/// The result of integrating a density over a box.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoxIntegral {
    /// The integral.
    pub value: f64,
    /// Estimate of the error: the change of the integral in the last refinement of the quadrature. It is 0 if
    /// the box contains the whole support, because the integral is then 1 by construction.
    pub error: f64,
    /// Number of panels (intervals) into which the quadrature divides each side of the box; 0 if the integral is 1 by
    /// construction.
    pub panels: usize,
}

/// Method by which derivatives with respect to the context are computed. Second derivatives are always finite
/// differences. They are differences of the gradient for [`Self::Graph`], and differences of log-densities on a grid of
/// points for [`Self::Differences`].
#[derive(Debug, Clone, PartialEq)]
pub enum GradientMethod {
    /// A computation graph gives the first derivatives. The manifest of the density names this graph.
    Graph,
    /// The first derivatives are central finite differences. The list has one step per number of the context.
    Differences(Vec<f64>),
}

/// The distribution of the random numbers that a sampler turns into events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// Standard normal numbers.
    Normal,
    /// Uniform numbers between 0 and 1.
    Uniform,
}

/// The program and the precision in which the network of a learned density is evaluated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NetworkEvaluation {
    /// Name of the provider that runs the network: `cpu`, `cuda` or `tensorrt`.
    pub provider: &'static str,
    /// Name of the precision: `f64`, `f32`, `tf32` or `fp16`.
    pub precision: &'static str,
    /// Largest difference between a log-density of this provider and that of the CPU, divided by the larger of 1 and
    /// the absolute log-density. `None` on the CPU.
    pub largest_difference: Option<f64>,
}

/// The density `p(x | c)` of events with `d` features, given a context `c`. All events of a call share one
/// context. The density is normalised over its support.
///
/// Events are rows of `d` numbers, one after the other. The same call gives the same bits on every thread.
pub trait LogProb: Debug + Send + Sync {
    /// Returns the name of the density, for messages.
    fn name(&self) -> &str;

    /// Returns the number of features `d`.
    fn dimension(&self) -> usize;

    /// Returns the names of the numbers in the context, in the order in which the methods take them as the argument
    /// `context`. The list is empty for a density without context.
    fn context(&self) -> &[String];

    /// Returns the method by which derivatives with respect to the context are computed; `None` for a density
    /// without context.
    fn gradient_method(&self) -> Option<GradientMethod>;

    /// Returns the rounding error of a log-density whose absolute value is about 1, in units of `f64::EPSILON`. The
    /// error is 1 for computations in double precision.
    fn rounding(&self) -> f64;

    /// Returns the support of the density: the lower and the upper end of each feature. Beyond these ends the density
    /// is 0. An end may be infinite.
    fn support(&self) -> &[(f64, f64)];

    /// Returns a text that changes whenever the density changes, for digests of models.
    fn digest(&self) -> &str;

    /// Writes the logarithm of the density of each event to `out`. Outside of the support the logarithm is minus
    /// infinity.
    ///
    /// # Errors
    /// If a length is wrong, the evaluation fails, or a result is NaN or plus infinity.
    fn log_prob(&self, events: &[f64], context: &[f64], out: &mut [f64]) -> Result<(), LogProbError>;

    /// Writes the derivatives of each event's log-density with respect to the context to `out`, and returns
    /// the method. `out` has one row per event and one column per number of the context.
    ///
    /// # Errors
    /// The errors of [`Self::log_prob`].
    fn context_gradient(
        &self,
        events: &[f64],
        context: &[f64],
        out: &mut [f64],
    ) -> Result<GradientMethod, LogProbError>;

    /// Writes the log-density of each event to `out`, with its first and second derivatives with respect to the
    /// context. Each column of `out` has one number per event. Column 0 is the log-density. For a context of `c`
    /// numbers, columns 1 to `c` are the first derivatives, and column `1 + c + i (i + 1) / 2 + j` is the second
    /// derivative with respect to the numbers `i` and `j <= i`. Outside of the support (the range in which the density
    /// is not 0), all derivatives are 0.
    ///
    /// # Errors
    /// The errors of [`Self::log_prob`].
    fn context_derivatives(
        &self,
        events: &[f64],
        context: &[f64],
        out: &mut [f64],
    ) -> Result<(), LogProbError>;

    /// Returns the integral of the density over a box. `sides` has the lower and the upper end of each
    /// feature.
    ///
    /// # Errors
    /// If the integral cannot be computed, if it is almost 0, or if its value is impossible for a density that is
    /// normalised over its support, such as a value above 1.
    fn integral(&self, sides: &[(f64, f64)], context: &[f64]) -> Result<BoxIntegral, LogProbError>;

    /// Writes the integral of the density over a box to `out`, with its first and second derivatives with respect to
    /// the context, in the order of [`Self::context_derivatives`]. The quadrature divides each side of the box into
    /// `panels` panels (intervals). The caller gives the number of panels that [`Self::integral`] chose at another
    /// context. With a fixed number of panels, the integral is a smooth function of the context. Returns an estimate of
    /// the error of the integral, as in [`BoxIntegral::error`].
    ///
    /// # Errors
    /// The errors of [`Self::integral`], and if the panels are too wide for this context.
    fn integral_derivatives(
        &self,
        sides: &[(f64, f64)],
        panels: usize,
        context: &[f64],
        out: &mut [f64],
    ) -> Result<f64, LogProbError>;

    /// Returns the program and the precision in which the log-densities are evaluated; `None` if the density is not a
    /// neural network.
    fn evaluation(&self) -> Option<NetworkEvaluation> {
        None
    }

    /// Returns the distribution of the random numbers that [`Self::sample`] takes, and how many of them it takes per
    /// event. Returns `None` if there is no sampler.
    fn base(&self) -> Option<(Base, usize)>;

    /// Turns random numbers into events and writes the events to `out`. `base` has the random numbers of one event
    /// after another; [`Self::base`] says how many there are per event.
    ///
    /// # Errors
    /// If there is no sampler, a length is wrong, or the evaluation fails.
    fn sample(&self, base: &[f64], context: &[f64], out: &mut [f64]) -> Result<(), LogProbError>;
}

/// A shared density that is not a formula. Two values of this type are equal if the digests of their densities are
/// equal.
#[derive(Debug, Clone)]
pub struct SharedLogProb(pub Arc<dyn LogProb>);

impl PartialEq for SharedLogProb {
    fn eq(&self, other: &Self) -> bool {
        self.0.digest() == other.0.digest()
    }
}
