//! [`Session`]: a compiled model on a device, and the fits and evaluations that it offers.
//!
//! The statistical methods in `ns-inference` use a model only through [`Session`]. They are therefore
//! independent of the device, and of whether the data are counts or events.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::{
    Control, Data, Device, DeviceCheck, InputTable, InverseHessian, LeftToCpu, Pulled, SessionError,
    TaskOutcome, ToySource,
};

/// The point at which a fit starts.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Start {
    /// The start values of the model.
    #[default]
    Init,
    /// A given point: one value for each parameter.
    At(Arc<[f64]>),
    /// The last point of the earlier fit with this index in the task. If the earlier fit failed or was unbounded, its
    /// starting point is used instead.
    Earlier(usize),
    /// The same point as [`Start::Earlier`] with this index, but moved along a direction (one number per parameter)
    /// until the first parameter in [`FitRequest::fixed`] has its fixed value. Parameters outside their bounds are then
    /// moved to the bounds. With this starting point, a conditional fit can begin near the result of the free fit.
    Along(usize, Arc<[f64]>),
}

/// The effort of the search for the global minimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Search {
    /// One descent from the start point, for fits that start near the minimum of a similar fit. If the model can have
    /// several minima, fits of toys drawn by the session also descend from further points, unless
    /// [`FitRequest::single_descent`] is set. The further points are the same for all toys.
    Local,
    /// Descents from the start point and from some other points. For example, nuisance parameters that have a large
    /// pull and an asymmetric effect get the opposite sign, or parameters are moved to the other side of a kink.
    /// This is the default of a single fit.
    #[default]
    Standard,
    /// Descents from many points, whether or not the model is likely to have several minima.
    Thorough,
}

impl Search {
    /// All efforts, from the least to the greatest.
    pub const ALL: [Self; 3] = [Self::Local, Self::Standard, Self::Thorough];

    /// Returns the name of the effort, as used on the command line and in Python.
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

/// The condition under which a fit is needed, given the result of an earlier fit of the same task. The fit is needed if
/// the earlier fit failed or did not converge, or if the best-fit value of `parameter` in the earlier fit lies within
/// `range`, limits included. For example, a test statistic needs no conditional fit if the best-fit value of the POI
/// lies beyond the tested value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Condition {
    /// Index of the earlier fit within the task.
    pub fit: usize,
    /// Index of the parameter whose best-fit value in the earlier fit decides whether the later fit is needed.
    pub parameter: usize,
    /// Lower and upper limit. The later fit is needed if the best-fit value of the parameter in the earlier fit lies
    /// between these limits.
    pub range: (f64, f64),
}

/// The settings of one minimisation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FitRequest {
    /// Start point.
    pub start: Start,
    /// Point to which the fit stays as close as possible in directions along which the likelihood is constant (one value
    /// for each parameter). `None` stands for the start values of the model.
    pub origin: Option<Arc<[f64]>>,
    /// Index and value of each parameter that is fixed in this fit, in addition to the parameters that the model fixes.
    pub fixed: Vec<(usize, f64)>,
    /// Indices of the parameters that the model fixes, but that are free in this fit.
    pub released: Vec<usize>,
    /// Index, lower bound and upper bound of each parameter whose bounds in this fit replace those of the model.
    pub bounds: Vec<(usize, (f64, f64))>,
    /// The effort of the search for the global minimum.
    pub search: Search,
    /// Whether fits of toys drawn by the session make a single descent, from the starting point. If false, and if the
    /// model can have several minima, they also descend from further points ([`Search::Local`]).
    pub single_descent: bool,
    /// Inverse Hessian of a similar fit. The first steps of the descent are computed with it, which saves iterations
    /// but does not change the criterion for convergence. A device may ignore it.
    pub metric: Option<InverseHessian>,
    /// Condition under which the fit is needed. If it does not hold, the fit is skipped
    /// ([`FitFailure::NotNeeded`](crate::FitFailure::NotNeeded)). `None` means that the fit is always made.
    pub only_if: Option<Condition>,
    /// Largest accepted error of the integrals in `-ln L` at the minimum, as a fraction of the integral. If an error is
    /// larger, the fit is not converged ([`Reason::InexactIntegral`](crate::Reason::InexactIntegral)). `None` means
    /// [`INTEGRAL_TOLERANCE`](crate::INTEGRAL_TOLERANCE).
    pub integral_tolerance: Option<f64>,
}

/// Fits that share one set of data, such as the free and the conditional fit of a toy.
#[derive(Debug, Clone)]
pub struct FitTask {
    /// Data of all these fits.
    pub data: Data,
    /// The minimisations, made in this order.
    pub fits: Vec<FitRequest>,
    /// Flag that cancels this task, but not the other tasks of its batch, when it becomes true. The CPU checks it
    /// between fits and between iterations, like [`Control::cancel`]. If a GPU makes the fits, the flag is checked only
    /// while the CPU completes a fit.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl FitTask {
    /// Returns a copy of `batch`, the control of the batch, and adds the cancel flag of this task to the copy.
    #[must_use]
    pub fn control<'a>(&'a self, batch: Control<'a>) -> Control<'a> {
        Control { task: self.cancel.as_deref(), ..batch }
    }
}

/// Selects which optional parts of an outcome a session computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OutcomeParts {
    /// Whether to compute the uncertainties of all free parameters.
    pub uncertainties: bool,
    /// Whether to compute the full covariance matrix and the uncertainties.
    pub covariance: bool,
    /// Whether to compute the uncertainties and the inverse Hessian
    /// ([`FitOutcome::inverse_hessian`](crate::FitOutcome::inverse_hessian)), which speeds up similar fits.
    /// In small models the inverse Hessian is the covariance matrix.
    pub inverse: bool,
}

/// Receiver of the outcomes of a batch, in the order of the tasks. A task with drawn data has one outcome per toy.
pub trait Sink {
    /// Receives the outcome with the index `index`. The index counts all outcomes of the batch from 0.
    fn accept(&mut self, index: usize, outcome: TaskOutcome);
}

impl Sink for Vec<TaskOutcome> {
    fn accept(&mut self, _index: usize, outcome: TaskOutcome) {
        self.push(outcome);
    }
}

/// Selects the quantities that a session computes at given points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EvaluationRequest {
    /// Whether to compute `-ln L`.
    pub nll: bool,
    /// Whether to compute the gradient of `-ln L`.
    pub gradient: bool,
    /// Whether to compute the exact Hessian of `-ln L`.
    pub hessian: bool,
    /// Whether to compute the expected main and auxiliary data.
    pub expected: bool,
    /// Whether to compute the expected yields of every sample.
    pub samples: bool,
}

/// Values of the likelihood and related quantities at several points. Each array has the values of all points, point
/// after point. Arrays that were not requested are empty.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Evaluation {
    /// `-ln L` at each point.
    pub nll: Vec<f64>,
    /// The part of `-ln L` from the main counts, at each point.
    pub nll_main: Vec<f64>,
    /// The part of `-ln L` from the constraint terms, at each point.
    pub nll_constraint: Vec<f64>,
    /// Gradients of `-ln L`, with the shape `points x parameters`.
    pub gradient: Vec<f64>,
    /// Hessians of `-ln L`, with the shape `points x parameters x parameters`.
    pub hessian: Vec<f64>,
    /// Expected data in pyhf's order (main data, then auxiliary data), with the shape
    /// `points x (bins + auxiliary data)`.
    pub expected: Vec<f64>,
    /// Expected yields of every sample, ordered by point, then channel, then sample, then bin. Their sums over the
    /// samples are the expected main data in `expected`.
    pub samples: Vec<f64>,
}

/// Selects which matrix [`Session::squared_weights`] computes for fits of weighted events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SquaredWeights {
    /// The covariance matrix of the gradient of `-ln L`: the sum over events `sum_i w_i^2 g_i g_i'`, plus the Fisher
    /// information of bins and constraint terms. `w_i` is the weight of event `i`, and `g_i` is the gradient of
    /// `ln(sum_k nu_k p_k)` at this event, with the rates `nu_k` and densities `p_k` of the processes.
    Scores,
    /// The Hessian of `-ln L`, computed with the squared weights of the events in place of the weights. The expected
    /// number of events of an extended channel (a channel in which the number of events is part of the likelihood)
    /// is multiplied by the sum of the squared weights and divided by the sum of the weights.
    Hessian,
}

/// Start values and bounds of a model's parameters, and whether they are fixed. The names are not included.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ParameterTable {
    /// Start value of each parameter.
    pub init: Vec<f64>,
    /// Lower and upper bound of each parameter.
    pub bounds: Vec<(f64, f64)>,
    /// Whether the model fixes each parameter.
    pub fixed: Vec<bool>,
    /// Index of the parameter of interest; `None` if the model has none.
    pub poi: Option<usize>,
}

/// A compiled model on a device.
pub trait Session: Send + Sync {
    /// Returns the device that the session runs on.
    fn device(&self) -> Device;

    /// Returns the start values and bounds of the parameters, and whether they are fixed.
    fn parameters(&self) -> &ParameterTable;

    /// Runs every task and hands the outcomes to `sink` in the order of the tasks. If a fit fails, its outcome says so;
    /// this is not an error of the call. If the batch is cancelled, the last outcomes may be missing, and fits in the
    /// other outcomes can be [`FitFailure::Cancelled`](crate::FitFailure::Cancelled).
    ///
    /// Results do not depend on the number of threads, the batch size or the order of the tasks.
    ///
    /// # Errors
    /// If a task is not valid (wrong lengths or indices, data that the session cannot use) or the device
    /// fails.
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
    /// If a length does not fit the model or the device fails.
    fn evaluate(
        &self,
        data: &Data,
        points: &[f64],
        request: EvaluationRequest,
    ) -> Result<Evaluation, SessionError>;

    /// Returns the Asimov data at the point `parameters`: a copy of `of` in which the expected values replace
    /// the counts and auxiliary data.
    ///
    /// # Errors
    /// If the length of `parameters` does not fit the model, `of` are toys, an expected yield is negative or
    /// not finite, or the device fails.
    fn asimov(&self, parameters: &[f64], of: &Data) -> Result<Data, SessionError> {
        self.asimov_for(parameters, &[], of)
    }

    /// Returns the Asimov data at the point `parameters`, as [`Session::asimov`] does. The expected events are placed so
    /// that `-ln L` is also accurate at the points `visited`, at which an analysis evaluates it.
    ///
    /// # Errors
    /// The errors of [`Session::asimov`].
    fn asimov_for(&self, parameters: &[f64], visited: &[&[f64]], of: &Data) -> Result<Data, SessionError>;

    /// Returns the distributions from which toys at the point `parameters` are drawn. The toys replace the counts and
    /// auxiliary data of `of`. Toys with different values of `hypothesis` share no random numbers.
    ///
    /// # Errors
    /// If the length of `parameters` does not fit the model, `of` are toys, an expected yield is negative or
    /// too large, or the device fails.
    fn toy_source(
        &self,
        parameters: &[f64],
        of: &Data,
        seed: u64,
        hypothesis: u8,
    ) -> Result<Arc<ToySource>, SessionError>;

    /// Computes the variances of linear combinations of the parameters at the minimum `point`: `v' C v` for each
    /// combination `v` (pairs of parameter index and weight). `C` is the inverse of the exact Hessian over the
    /// parameters that are `free`. The full matrix `C` is never computed, because it would be the largest array of a
    /// model with one parameter per bin.
    ///
    /// Returns `None` if the Hessian is not positive definite, or if this session cannot compute the
    /// variances.
    ///
    /// # Errors
    /// If a length or an index does not fit the model, a number is not finite, or the device fails.
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

    /// Computes a matrix with squared weights of events, for the uncertainties of fits of weighted events. The matrix
    /// covers all parameters and is stored row by row. Bins and constraint terms have no weights. Returns `None` if
    /// this session cannot compute the matrix.
    ///
    /// # Errors
    /// If a length does not fit the model, a number is not finite, or the device fails.
    fn squared_weights(
        &self,
        data: &Data,
        point: &[f64],
        form: SquaredWeights,
    ) -> Result<Option<Vec<f64>>, SessionError> {
        match self.cpu() {
            Some(cpu) => cpu.squared_weights(data, point, form),
            None => Ok(None),
        }
    }

    /// Returns rows of an inverse Hessian, one for each of `parameters`; `None` for an index that is not that of a
    /// parameter. If the inverse is stored as factors, the rows are computed on the threads of the session.
    fn inverse_rows(&self, inverse: &InverseHessian, parameters: &[usize]) -> Vec<Option<Vec<f64>>> {
        match self.cpu() {
            Some(cpu) => cpu.inverse_rows(inverse, parameters),
            None => parameters.iter().map(|&p| inverse.row(p).map(Cow::into_owned)).collect(),
        }
    }

    /// Returns the inputs: constants of the model that each data set may replace. A model has inputs only if
    /// `Model::open` declared them.
    fn inputs(&self) -> &InputTable {
        static NONE: InputTable = InputTable { inputs: Vec::new(), ranges: Vec::new(), values: Vec::new() };
        self.cpu().map_or(&NONE, |cpu| cpu.inputs())
    }

    /// Returns the derivatives of `-ln L` at `point` with respect to the inputs, the main counts and the
    /// auxiliary data.
    ///
    /// If a direction `along` (one number per parameter) is given, the result has the derivatives of the directional
    /// derivative of `-ln L` in this direction instead. This is useful for a function of the best-fit values: if `g` is
    /// the gradient of this function and `H` is the Hessian of `-ln L`, then `along = -H^-1 g` gives the derivatives of
    /// the function with respect to inputs and data.
    ///
    /// At a kink, each derivative is the mean of the two one-sided derivatives.
    ///
    /// # Errors
    /// If a length does not fit the model, a number is not finite, `data` are toys, the model has event
    /// channels, or this session cannot compute derivatives.
    fn pull_back(&self, data: &Data, point: &[f64], along: Option<&[f64]>) -> Result<Pulled, SessionError> {
        match self.cpu() {
            Some(cpu) => cpu.pull_back(data, point, along),
            None => Err(SessionError::ForeignData { remedy: "derivatives by inputs need the device cpu" }),
        }
    }

    /// Returns `-ln L` of the saturated model for `data`, i.e. the lowest value that `-ln L` could have for any
    /// expected data. Returns `None` if the data have no such value, for example if they are single events.
    ///
    /// # Errors
    /// If the data do not fit the model.
    fn saturated_nll(&self, data: &Data) -> Result<Option<f64>, SessionError>;

    /// Returns a session of the same model on the CPU. A CPU makes a single fit faster than a GPU. Returns `None` if
    /// this session is on the CPU itself.
    fn cpu(&self) -> Option<&dyn Session> {
        None
    }

    /// Returns the differences between the fits of this session's device and the CPU, collected since the session was
    /// opened. Returns `None` if the CPU itself made the fits. A batch ends with [`SessionError::DeviceDisagrees`] if
    /// `-ln L` or a gradient differs by more than its tolerance.
    fn check(&self) -> Option<DeviceCheck> {
        None
    }

    /// Returns the reason why the CPU made fits that were requested from the device; `None` if the CPU has made no such
    /// fits so far. Single fits that the device could not finish do not count.
    fn left_to_cpu(&self) -> Option<LeftToCpu> {
        None
    }
}
