//! [`LogProb`]: a density that is not a formula, such as a normalising flow.
//!
//! Such a density is evaluated outside the engine. A density without context is evaluated once per data set and once
//! per toy, and the engine sees a column of log-densities. For a density with context, log-densities and their
//! derivatives are computed whenever a number of the context has changed.

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
        /// The features of the event.
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

/// An integral of a density over a box.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoxIntegral {
    /// The integral.
    pub value: f64,
    /// Estimate of the error: the change of the integral in the last refinement of the quadrature. It is 0 if
    /// the box contains the whole support, because the integral is then 1 by construction.
    pub error: f64,
    /// Number of panels per feature of the quadrature; 0 if the integral is 1 by construction.
    pub panels: usize,
}

/// Method by which derivatives with respect to the context are computed. Second derivatives are always differences.
/// With [`Self::Graph`] they are differences of the gradient, otherwise of log-densities at the points of a grid.
#[derive(Debug, Clone, PartialEq)]
pub enum GradientMethod {
    /// A graph in the manifest of the density gives the first derivatives.
    Graph,
    /// Central differences with these steps, one per number of the context.
    Differences(Vec<f64>),
}

/// The random numbers that a sampler turns into events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// Standard normal numbers.
    Normal,
    /// Uniform numbers between 0 and 1.
    Uniform,
}

/// The program and precision that evaluate a density that a network has learned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NetworkEvaluation {
    /// The provider: `cpu`, `cuda` or `tensorrt`.
    pub provider: &'static str,
    /// The precision: `f64`, `f32`, `tf32` or `fp16`.
    pub precision: &'static str,
    /// Largest difference from the CPU, divided by the larger of 1 and the absolute log-density; `None` on the CPU.
    pub largest_difference: Option<f64>,
}

/// A density `p(x | c)` of `d` features that is evaluated event by event, for a context `c` that all events of a call
/// share. It is normalised over its support.
///
/// Events are rows of `d` numbers, one after the other. The same call gives the same bits on every thread.
pub trait LogProb: Debug + Send + Sync {
    /// Returns the name of the density, for messages.
    fn name(&self) -> &str;

    /// Returns the number of features `d`.
    fn dimension(&self) -> usize;

    /// Returns the names of the numbers of the context, in the order in which calls give them; an empty list for a
    /// density without context.
    fn context(&self) -> &[String];

    /// Returns the method by which derivatives with respect to the context are computed; `None` for a density
    /// without context.
    fn gradient_method(&self) -> Option<GradientMethod>;

    /// Returns the rounding error of a log-density of about 1, in units of `f64::EPSILON`. It is 1 for computations
    /// with 64 bits.
    fn rounding(&self) -> f64;

    /// Returns the lower and upper end of each feature, beyond which the density is 0. An end may be infinite.
    fn support(&self) -> &[(f64, f64)];

    /// Returns a text that changes whenever the density changes, for digests of models.
    fn digest(&self) -> &str;

    /// Writes the logarithm of the density of each event to `out`. It is minus infinity outside the support.
    ///
    /// # Errors
    /// If a length is wrong, the evaluation fails, or a result is NaN or plus infinity.
    fn log_prob(&self, events: &[f64], context: &[f64], out: &mut [f64]) -> Result<(), LogProbError>;

    /// Writes the derivatives of each event's log-density with respect to the context to `out`, row after row, and
    /// returns the method.
    ///
    /// # Errors
    /// The errors of [`Self::log_prob`].
    fn context_gradient(
        &self,
        events: &[f64],
        context: &[f64],
        out: &mut [f64],
    ) -> Result<GradientMethod, LogProbError>;

    /// Writes the log-densities of the events with their first and second derivatives with respect to the context:
    /// columns of one number per event, in the order log-density, first derivatives, second derivatives with respect to
    /// the numbers `j <= i` at column `1 + c + i (i + 1) / 2 + j`. Outside of the support, all derivatives are 0.
    ///
    /// # Errors
    /// The errors of [`Self::log_prob`].
    fn context_derivatives(
        &self,
        events: &[f64],
        context: &[f64],
        out: &mut [f64],
    ) -> Result<(), LogProbError>;

    /// Returns the integral over a box, with lower and upper end of each feature.
    ///
    /// # Errors
    /// If the integral cannot be computed, or if it contradicts a density that is normalised over its
    /// support.
    fn integral(&self, sides: &[(f64, f64)], context: &[f64]) -> Result<BoxIntegral, LogProbError>;

    /// Writes the integral over a box with its first and second derivatives with respect to the context, in the
    /// order of [`Self::context_derivatives`], computed with the number of panels that [`Self::integral`] chose
    /// at another context. So the integral is a smooth function of the context.
    ///
    /// # Errors
    /// The errors of [`Self::integral`], and if the panels are too wide for this context.
    fn integral_derivatives(
        &self,
        sides: &[(f64, f64)],
        panels: usize,
        context: &[f64],
        out: &mut [f64],
    ) -> Result<(), LogProbError>;

    /// Returns the program and precision that evaluate the log-densities; `None` for a density that no
    /// network has learned.
    fn evaluation(&self) -> Option<NetworkEvaluation> {
        None
    }

    /// Returns the kind of random numbers that [`Self::sample`] takes, and how many per event; `None` without a sampler.
    fn base(&self) -> Option<(Base, usize)>;

    /// Turns rows of random numbers into events, which are written to `out`.
    ///
    /// # Errors
    /// If there is no sampler, a length is wrong, or the evaluation fails.
    fn sample(&self, base: &[f64], context: &[f64], out: &mut [f64]) -> Result<(), LogProbError>;
}

/// A shared density that is not a formula. Two values are equal if their digests are equal.
#[derive(Debug, Clone)]
pub struct SharedLogProb(pub Arc<dyn LogProb>);

impl PartialEq for SharedLogProb {
    fn eq(&self, other: &Self) -> bool {
        self.0.digest() == other.0.digest()
    }
}
