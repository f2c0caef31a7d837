//! The one primitive: many fits of one model.
//!
//! Inference is written on [`Session`] alone and does not know which device it
//! runs on, nor whether the data are counts or events.

use std::sync::Arc;

use crate::{Control, Covariance, Data, Device, DeviceCheck, SessionError, TaskOutcome, ToySource};

/// Where a fit starts.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Start {
    /// The model's suggested values.
    #[default]
    Init,
    /// A given point, all parameters.
    At(Arc<[f64]>),
    /// The result of an earlier request of the same task, or where that started if it failed.
    Earlier(usize),
    /// The same point, moved along a direction (one number per parameter) until the first parameter that this request holds
    /// has its value, and then put inside the bounds. This leads from a free fit to the conditional one.
    Along(usize, Arc<[f64]>),
}

/// The effort of the search for the global minimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Search {
    /// One descent from the start point, for fits close to a parent fit. Drawn toys also start from further points where a model
    /// can have several minima; all toys share these points.
    Local,
    /// Also try the other side of pulled, asymmetric parameters and of kinks: the
    /// default of a single fit.
    #[default]
    Standard,
    /// Many starts, whatever the model.
    Thorough,
}

impl Search {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Local, Self::Standard, Self::Thorough];

    /// Its name on the command line and in Python.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Standard => "standard",
            Self::Thorough => "thorough",
        }
    }
}

impl std::str::FromStr for Search {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|search| search.name() == text);
        found.ok_or_else(|| format!("unknown search '{text}'; use \"local\", \"standard\" or \"thorough\""))
    }
}

/// When a later fit of a task is needed: if the earlier fit failed or did not converge, or if its
/// parameter lies within the range, ends included. For example, a test statistic needs no conditional fit
/// if the free fit lies beyond the tested value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Condition {
    /// Index of the earlier fit within the task.
    pub fit: usize,
    /// The parameter that decides.
    pub parameter: usize,
    /// Lowest and highest value for which the later fit is needed.
    pub range: (f64, f64),
}

/// One minimisation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FitRequest {
    /// Start point.
    pub start: Start,
    /// Parameters held at given values, beyond those that the model fixes.
    pub fixed: Vec<(usize, f64)>,
    /// Parameters that the model fixes and this fit sets free.
    pub released: Vec<usize>,
    /// Bounds other than the model's, per parameter.
    pub bounds: Vec<(usize, (f64, f64))>,
    /// The effort of the search for the global minimum.
    pub search: Search,
    /// Covariance of a similar fit, used as the first inverse Hessian. It saves iterations and
    /// never changes what counts as a minimum; a device may ignore it.
    pub metric: Option<Arc<Covariance>>,
    /// When the fit is needed; otherwise it is skipped
    /// ([`FitFailure::NotNeeded`](crate::FitFailure::NotNeeded)).
    pub only_if: Option<Condition>,
}

/// Fits that share one set of data, such as the free and the conditional fit of a toy.
#[derive(Debug, Clone)]
pub struct FitTask {
    /// The data.
    pub data: Data,
    /// The minimisations, done in this order.
    pub fits: Vec<FitRequest>,
}

/// Which parts of an outcome to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OutcomeParts {
    /// Uncertainties of all free parameters.
    pub uncertainties: bool,
    /// The full covariance matrix (implies uncertainties).
    pub covariance: bool,
}

/// Receives outcomes in task order. A task with drawn data has one outcome per toy.
pub trait Sink {
    /// Receives outcome number `index`.
    fn accept(&mut self, index: usize, outcome: TaskOutcome);
}

impl Sink for Vec<TaskOutcome> {
    fn accept(&mut self, _index: usize, outcome: TaskOutcome) {
        self.push(outcome);
    }
}

/// What to evaluate at given points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EvaluationRequest {
    /// `-ln L`.
    pub nll: bool,
    /// Its gradient.
    pub gradient: bool,
    /// Its exact Hessian.
    pub hessian: bool,
    /// Expected main and auxiliary data.
    pub expected: bool,
    /// Expected yields of every sample.
    pub samples: bool,
}

/// Values at points, point after point, row-major; empty where not asked for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Evaluation {
    /// `-ln L` per point.
    pub nll: Vec<f64>,
    /// Its part from the main counts.
    pub nll_main: Vec<f64>,
    /// Its part from the constraint terms.
    pub nll_constraint: Vec<f64>,
    /// Gradients, `points x parameters`.
    pub gradient: Vec<f64>,
    /// Hessians, `points x parameters x parameters`.
    pub hessian: Vec<f64>,
    /// Expected data in pyhf's order (main, then auxiliary), `points x (bins + auxiliary data)`.
    pub expected: Vec<f64>,
    /// Expected yields of every sample, per point channel after channel, within a channel sample after
    /// sample, within a sample bin after bin. Summed over samples they are the main part of `expected`.
    pub samples: Vec<f64>,
}

/// The numeric side of a model's parameters, without names.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ParameterTable {
    /// Start values.
    pub init: Vec<f64>,
    /// Lower and upper bounds.
    pub bounds: Vec<(f64, f64)>,
    /// Fixed by the model.
    pub fixed: Vec<bool>,
}

/// A compiled model on a device.
pub trait Session: Send + Sync {
    /// The device it runs on.
    fn device(&self) -> Device;

    /// Start values, bounds and fixed flags.
    fn parameters(&self) -> &ParameterTable;

    /// Runs every task and hands outcomes to `sink` in task order. A failed fit is an
    /// outcome; a cancelled batch returns the tasks that finished.
    ///
    /// Results do not depend on threads, batch size or order.
    ///
    /// # Errors
    /// If a task cannot be understood (lengths, indices, foreign data) or the device fails.
    fn fit_batch(
        &self,
        tasks: &[FitTask],
        wanted: OutcomeParts,
        control: Control<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), SessionError>;

    /// Evaluates the likelihood at `points` (row-major, one parameter vector after another).
    ///
    /// # Errors
    /// If lengths do not fit or the device fails.
    fn evaluate(
        &self,
        data: &Data,
        points: &[f64],
        request: EvaluationRequest,
    ) -> Result<Evaluation, SessionError>;

    /// The data that would be expected at `parameters`: the Asimov set, which has the counts of `of` replaced.
    ///
    /// # Errors
    /// If the length does not fit, `of` are toys, or the device fails.
    fn asimov(&self, parameters: &[f64], of: &Data) -> Result<Data, SessionError>;

    /// What toys at `parameters` are drawn from in place of the counts of `of`, `hypothesis` being a number that keeps their random numbers
    /// apart from those of other hypotheses.
    ///
    /// # Errors
    /// If the length does not fit, `of` are toys, a bin has a negative expected yield, or the device fails.
    fn toy_source(
        &self,
        parameters: &[f64],
        of: &Data,
        seed: u64,
        hypothesis: u8,
    ) -> Result<Arc<ToySource>, SessionError>;

    /// Variances of linear combinations of the parameters at a minimum: `v' C v` for each combination `v` (pairs of
    /// parameter and weight), with `C` the inverse of the exact Hessian over the parameters that are `free`. The
    /// whole of `C` is never formed: with a parameter per bin it would be larger than everything else.
    ///
    /// `None` where the Hessian is not positive definite, or this session cannot compute them.
    ///
    /// # Errors
    /// If lengths or indices do not fit or the device fails.
    fn combined_variances(
        &self,
        data: &Data,
        point: &[f64],
        free: &[bool],
        combinations: &[Vec<(usize, f64)>],
    ) -> Result<Option<Vec<f64>>, SessionError> {
        match self.cpu() {
            Some(cpu) => cpu.combined_variances(data, point, free, combinations),
            None => Ok(None),
        }
    }

    /// `-ln L` of the saturated model for `data`: the lowest value any expectation could give. `None` for
    /// data that have no such value, such as single events.
    ///
    /// # Errors
    /// If the data do not fit.
    fn saturated_nll(&self, data: &Data) -> Result<Option<f64>, SessionError>;

    /// A session of the same model on the CPU, which is faster for a single fit; `None` if this session is on the CPU.
    fn cpu(&self) -> Option<&dyn Session> {
        None
    }

    /// How far the fits made since the session was opened are from what the CPU finds at the
    /// same points; `None` where the CPU itself made them. A value or gradient beyond the contract ends the batch with
    /// [`SessionError::DeviceDisagrees`] instead.
    fn check(&self) -> Option<DeviceCheck> {
        None
    }
}
