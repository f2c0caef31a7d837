//! The CPU session: a compiled model, its observed data, and the threads that run fits.

mod derivatives;
mod evaluate;
mod event_toys;
mod fit;
mod functions;
mod kept_fitters;
mod memory;
mod replaced;
mod toys;
mod work_unit;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use ns_core::{
    Control, Data, Device, Evaluation, EvaluationRequest, Execution, FitTask, InputTable, InverseHessian,
    Model, OutcomeParts, ParameterTable, Precision, Pulled, Seen, Session, SessionError, Sink,
    SquaredWeights, TaskOutcome, ToySource,
};

use crate::eval::Dataset;
use crate::events::{ChannelSums, Crew};
use crate::lanes::DescentDevice;
use crate::optimise::Worker;
use crate::plan::Plan;
pub(crate) use crate::pool::Pool;
use crate::simd::Level;
use crate::task::{check_data, check_task, parts_of};
pub use derivatives::Derivatives;
pub(crate) use derivatives::{Order, Sweeps};
pub(crate) use event_toys::EventToyFits;
#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
pub(crate) use event_toys::UnitOfToys;
use kept_fitters::KeptFitters;
use replaced::{Purpose, ReplacedShelf};
use work_unit::{UnitSizes, WorkUnit};

/// A session on the CPU: a compiled model with its observed data and working memory.
pub struct CpuSession {
    pub(crate) plan: Arc<Plan>,
    /// For a model with kinks (jumps of the slope of `-ln L` where a parameter is 0), the same model with smooth
    /// interpolation codes; otherwise `None`. The minimum of the smooth model is a further starting point of fits.
    smooth: Option<Arc<Plan>>,
    pub(crate) observed: Arc<Dataset>,
    pub(crate) level: Level,
    threads: usize,
    pub(crate) memory_limit: Option<u64>,
    pub(crate) pool: Option<Arc<Pool>>,
    pub(crate) workers: Arc<Mutex<Vec<Worker>>>,
    smooth_workers: Arc<Mutex<Vec<Worker>>>,
    /// For each of the last few runs of toys, the inputs that all fits of the run share.
    fitters: KeptFitters,
    /// Idle copies of this session. A copy is used if data replace numbers of the model, for example nominal yields.
    shelf: ReplacedShelf,
    /// Working memory for the computation of derivatives.
    pub(crate) sweeps: Arc<Mutex<Vec<Sweeps>>>,
    /// Device that computes sums over events; `None` if the CPU computes them.
    event_sums: Option<Arc<dyn ChannelSums>>,
    /// Device that fits toys with events; `None` if the CPU fits them.
    event_toys: Option<Arc<dyn EventToyFits>>,
    /// Device that makes the descents of toys; `None` if lanes make them.
    descents: Option<Arc<dyn DescentDevice>>,
}

impl CpuSession {
    /// Compiles `model` and opens a session with the best instruction set of this CPU.
    ///
    /// # Errors
    /// If the model is inconsistent or does not fit the memory limit, and the errors of [`CpuSession::sharing`].
    pub fn open(model: &Model, execution: &Execution) -> Result<Self, SessionError> {
        Self::open_at(model, execution, Level::detect())
    }

    /// Compiles `model` and opens a session that uses the instruction set `level`, for tests and measurements.
    ///
    /// # Errors
    /// The errors of [`CpuSession::open`].
    pub fn open_at(model: &Model, execution: &Execution, level: Level) -> Result<Self, SessionError> {
        let plan = Plan::compile(model, execution)?;
        let smooth = if plan.structure.has_kinks {
            Some(Arc::new(Plan::compile(&model.with_smooth_codes(), execution)?))
        } else {
            None
        };
        check_data(&plan, &model.observed)?;
        if model.has_function_factors() {
            functions::check_start(model, &plan, level)?;
        }
        let observed = Dataset::new(&plan, &model.observed.main, &model.observed.aux, &model.observed.events);
        Self {
            plan: Arc::new(plan),
            smooth,
            observed: Arc::new(observed),
            level,
            threads: 1,
            memory_limit: None,
            pool: None,
            workers: Arc::default(),
            smooth_workers: Arc::default(),
            fitters: KeptFitters::default(),
            shelf: ReplacedShelf::default(),
            sweeps: Arc::default(),
            event_sums: None,
            event_toys: None,
            descents: None,
        }
        .sharing(execution)
    }

    /// Returns a session with the same compiled model and data. Its threads, precision and memory limit are those of
    /// `execution`.
    ///
    /// # Errors
    /// [`SessionError::UnsupportedPrecision`] unless the precision is f64; [`SessionError::MemoryLimit`] if
    /// the model and the working memory of the threads need more than the limit;
    /// [`SessionError::DeviceUnavailable`] if the threads cannot be started.
    pub fn sharing(&self, execution: &Execution) -> Result<Self, SessionError> {
        execution.check_precision(Device::Cpu, Precision::F64)?;
        let threads = memory::threads(&self.plan, self.models(), execution);
        let mut session = Self {
            plan: Arc::clone(&self.plan),
            smooth: self.smooth.clone(),
            observed: Arc::clone(&self.observed),
            level: self.level,
            threads,
            memory_limit: execution.memory_limit,
            pool: None,
            workers: Arc::clone(&self.workers),
            smooth_workers: Arc::clone(&self.smooth_workers),
            fitters: KeptFitters::default(),
            shelf: Arc::clone(&self.shelf),
            sweeps: Arc::clone(&self.sweeps),
            event_sums: self.event_sums.clone(),
            event_toys: self.event_toys.clone(),
            descents: self.descents.clone(),
        };
        session.memory_for_batches()?;
        if threads > 1 {
            // The calling thread is one of the threads that run fits.
            session.pool = Some(Pool::of(threads - 1)?);
        }
        Ok(session)
    }

    /// Returns this session, changed so that the device `sums` computes the sums over events.
    #[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
    pub(crate) fn with_event_sums(self, sums: Arc<dyn ChannelSums>) -> Self {
        Self { event_sums: Some(sums), ..self }
    }

    /// Returns this session, changed so that the device `toys` makes the fits of toys with events.
    #[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
    pub(crate) fn with_event_toys(self, toys: Arc<dyn EventToyFits>) -> Self {
        Self { event_toys: Some(toys), ..self }
    }

    /// Returns this session, changed so that `device` makes the descents of toys.
    #[cfg(any(test, feature = "metal"))]
    pub(crate) fn with_descents(self, device: Arc<dyn DescentDevice>) -> Self {
        Self { descents: Some(device), fitters: KeptFitters::default(), ..self }
    }

    /// Returns whether the model has kinks (jumps of the slope of `-ln L`). The session then also has the same model
    /// with smooth interpolation codes, and fits also start at the minimum of this smooth model.
    #[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
    pub(crate) fn has_twin(&self) -> bool {
        self.smooth.is_some()
    }

    /// Evaluates the model and its curvature once, and ignores the results. The operating system then provides the
    /// working memory before the first fit. Without this call the first fit would be slower than later fits.
    pub fn prepare(&self) {
        let mut worker = take(&self.workers, &self.plan);
        worker.rehearse(&self.plan, self.level, &self.observed);
        put(&self.workers, worker);
    }

    /// Returns the threads that together evaluate the events of one fit. `alone` says whether this fit is the only
    /// one of its batch. Returns `None` if `alone` is false, the model has no event channel, or the session has a
    /// single thread.
    fn crew(&self, alone: bool) -> Option<Crew> {
        let pool = self.pool.as_ref().filter(|_| alone && self.plan.events.has_channels())?;
        Some(Crew { pool: Arc::clone(pool), threads: self.threads })
    }

    /// Returns the instruction set in use.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// Returns the initial values, bounds and fixed flags of all parameters.
    #[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
    pub(crate) fn table(&self) -> &ParameterTable {
        &self.plan.structure.table
    }

    /// Returns the compiled model.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the number of observed events of all channels together; 0 for a model without event channels.
    #[must_use]
    pub fn n_events(&self) -> usize {
        self.observed.events.iter().map(|table| table.len()).sum()
    }

    /// Returns whether GPUs can compute the sums over the events of toys. This needs event channels in which every
    /// function of the densities has a GPU kernel.
    #[must_use]
    pub fn gpus_sum_its_events(&self) -> bool {
        self.plan.events.has_channels() && self.plan.events.offloads().iter().all(Option::is_some)
    }

    /// Returns whether the model is too large for fits of eight toys at once in SIMD lanes. The scalar optimiser makes
    /// the fits of such a model.
    #[must_use]
    pub fn is_too_large_for_lanes(&self) -> bool {
        crate::lanes::is_too_large(&self.plan)
    }

    /// Returns whether the model is too large for fits on GPUs ([`ns_core::LeftToCpu::Large`]). The scalar optimiser of
    /// the CPU makes the fits of such a model.
    #[must_use]
    pub fn is_too_large_for_gpus(&self) -> bool {
        crate::lanes::is_too_large_for_gpus(&self.plan)
    }
}

/// Takes an unused worker (the working memory of one fit) from `shelf`, or allocates a new one. A poisoned lock is
/// accepted: it only means that another thread panicked between two fits, and every fit resets its worker.
pub(crate) fn take(shelf: &Mutex<Vec<Worker>>, plan: &Plan) -> Worker {
    let mut shelf = shelf.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    shelf.pop().unwrap_or_else(|| Worker::new(plan))
}

pub(crate) fn put(shelf: &Mutex<Vec<Worker>>, worker: Worker) {
    shelf.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(worker);
}

impl Session for CpuSession {
    fn device(&self) -> Device {
        Device::Cpu
    }

    fn parameters(&self) -> &ParameterTable {
        &self.plan.structure.table
    }

    fn fit_batch(
        &self,
        tasks: &[FitTask],
        wanted: OutcomeParts,
        control: Control<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), SessionError> {
        for task in tasks {
            check_task(&self.plan, task)?;
        }
        let wanted = parts_of(self.plan.n_parameters(), wanted);
        let (waiting, toys_per_unit) = self.batch(tasks, wanted)?;
        let total: u64 = tasks.iter().map(|task| task.data.count() * task.fits.len() as u64).sum();
        let toys = tasks
            .iter()
            .filter(|task| matches!(task.data.seen, Seen::Drawn(_)))
            .map(|task| task.data.count());
        let sizes = UnitSizes::new(toys.sum(), self.threads, toys_per_unit);
        let done = AtomicUsize::new(0);
        let finished = |count: usize| {
            let now = count + done.fetch_add(count, Ordering::Relaxed);
            control.progress(now, usize::try_from(total).unwrap_or(usize::MAX));
        };
        let alone = tasks.len() == 1 && matches!(tasks[0].data.seen, Seen::Observed | Seen::Given(_));
        let run = |unit: &WorkUnit<'_>| {
            let control = unit.task.control(control);
            if control.is_cancelled() {
                return unit.cancelled();
            }
            let mut worker = take(&self.workers, &self.plan);
            worker.scratch.events.crew = self.crew(alone);
            worker.scratch.events.elsewhere.clone_from(&self.event_sums);
            // `check_task` has already checked the numbers that replace numbers of the model.
            let outcomes = self.with_numbers(&unit.task.data, Purpose::of(unit.task), |session| {
                session.run_unit(unit, wanted, control, &mut worker, &finished)
            });
            put(&self.workers, worker);
            outcomes.unwrap_or_else(|_| unit.cancelled())
        };
        let mut index = 0;
        let mut units = tasks.iter().flat_map(|task| WorkUnit::of(self, task, &sizes)).peekable();
        while units.peek().is_some() {
            let mut chunk: Vec<WorkUnit<'_>> = Vec::new();
            let mut size = 0;
            while let Some(unit) = units.next_if(|_| size < waiting) {
                size += unit.len();
                chunk.push(unit);
            }
            let places: Vec<OnceLock<Vec<TaskOutcome>>> = chunk.iter().map(|_| OnceLock::new()).collect();
            Pool::each(self.pool.as_deref(), self.threads, chunk.len(), &|i| {
                if let Some((unit, place)) = chunk.get(i).zip(places.get(i)) {
                    // No other thread runs this unit, so the cell for its outcomes is empty.
                    let _ = place.set(run(unit));
                }
            });
            for outcome in places.into_iter().filter_map(OnceLock::into_inner).flatten() {
                sink.accept(index, outcome);
                index += 1;
            }
            if control.is_cancelled() {
                break;
            }
        }
        Ok(())
    }

    fn evaluate(
        &self,
        data: &Data,
        points: &[f64],
        request: EvaluationRequest,
    ) -> Result<Evaluation, SessionError> {
        self.with_numbers(data, Purpose::Evaluation, |session| {
            session.evaluate_points(data, points, request)
        })?
    }

    fn combined_variances(
        &self,
        data: &Data,
        point: &[f64],
        free: &[bool],
        combinations: &[Vec<(usize, f64)>],
    ) -> Result<Option<Vec<f64>>, SessionError> {
        self.with_numbers(data, Purpose::Evaluation, |session| {
            session.variances_of(data, point, free, combinations)
        })?
    }

    fn inverse_rows(&self, inverse: &InverseHessian, parameters: &[usize]) -> Vec<Option<Vec<f64>>> {
        let rows: Vec<OnceLock<Vec<f64>>> = parameters.iter().map(|_| OnceLock::new()).collect();
        // Copies of rows of a full matrix take less time than waking threads.
        let threads = if matches!(inverse, InverseHessian::Factored(_)) { self.threads } else { 1 };
        Pool::each(self.pool.as_deref(), threads, parameters.len(), &|i| {
            if let Some((&parameter, place)) = parameters.get(i).zip(rows.get(i))
                && let Some(row) = inverse.row(parameter)
            {
                // No other thread computes this row, so its place is empty.
                let _ = place.set(row.into_owned());
            }
        });
        rows.into_iter().map(OnceLock::into_inner).collect()
    }

    fn squared_weights(
        &self,
        data: &Data,
        point: &[f64],
        form: SquaredWeights,
    ) -> Result<Option<Vec<f64>>, SessionError> {
        self.with_numbers(data, Purpose::Evaluation, |session| {
            session.with_squared_weights(data, point, form)
        })?
        .map(Some)
    }

    fn asimov_for(&self, parameters: &[f64], visited: &[&[f64]], of: &Data) -> Result<Data, SessionError> {
        self.with_numbers(of, Purpose::Evaluation, |session| session.asimov_data(parameters, visited, of))?
    }

    fn toy_source(
        &self,
        parameters: &[f64],
        of: &Data,
        seed: u64,
        hypothesis: u8,
    ) -> Result<Arc<ToySource>, SessionError> {
        self.with_numbers(of, Purpose::Evaluation, |session| {
            session.source(parameters, of, seed, hypothesis)
        })?
        .map(Arc::new)
    }

    fn saturated_nll(&self, data: &Data) -> Result<Option<f64>, SessionError> {
        if self.plan.events.has_formulas() {
            return self.dataset(data).map(|_| None);
        }
        self.with_numbers(data, Purpose::Evaluation, |session| {
            let own = session.dataset(data)?;
            let data = own.as_ref().unwrap_or(&session.observed);
            Ok(Some(data.saturated_main + data.saturated_constraint))
        })?
    }

    fn inputs(&self) -> &InputTable {
        &self.plan.open.table
    }

    fn pull_back(&self, data: &Data, point: &[f64], along: Option<&[f64]>) -> Result<Pulled, SessionError> {
        let along = along.map(|along| (along, None));
        self.derivatives(data, point, along, Order::First, false).map(|made| made.pulled)
    }
}
