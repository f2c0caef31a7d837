//! A compiled model on a GPU.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use ns_core::{
    Control, Data, Device, DeviceCheck, Evaluation, EvaluationRequest, Execution, FitRequest, FitTask,
    LeftToCpu, Model, OutcomeParts, ParameterTable, Precision, Search, Session, SessionError, Sink,
    TaskOutcome, ToySource,
};

use super::arena::{Arena, moved};
use super::backend::{Backend, Buffer, Kernel};
use super::batch::{Launcher, Program, Slot};
use super::chunks::{ChunkQueue, ChunkSizes};
use super::fit_kind::{DeviceFitKind, Size};
use super::hessian::HessianPlacement;
use super::limit::Limited;
use super::partition::{DeliverOutcomes, TaskKind, TasksDone, in_parts};
use super::prepared::{Prepared, RecentCache, is_of};
use super::{layout, shape, upload};
use crate::cpu::{CpuSession, Pool, put, take};
use crate::lanes::{Further, ToyFitter, is_too_large_for_gpus};
use crate::optimise::Worker;
use crate::task::{FitDomain, check_task, parts_of};

/// Largest number of tasks in one launch, for tasks with given data (data that are not toys).
pub(super) const MOST_GIVEN: usize = 8192;
/// Largest number of tasks in a block. A block is a range of tasks that one thread finishes in one call. Smaller
/// batches are divided into smaller blocks.
const BLOCK: usize = 64;
/// Largest number of blocks (ranges of tasks) into which a batch of fewer than `BLOCK * BLOCKS` tasks is divided.
const BLOCKS: usize = 32;
/// Largest number of threads that convert results of the device to outcomes, if the CPU makes no fits.
const READERS: usize = 8;

/// Function that returns the outcomes of a range of tasks, given by their indices.
pub(super) type SettleTasks<'a> = dyn Fn(Range<usize>) -> Vec<TaskOutcome> + Sync + 'a;

/// A compiled model on one GPU. It contains a CPU session of the same model. The CPU session makes the fits that the
/// device cannot complete, makes the searches for further minima that the device does not make, and checks results of
/// the device.
pub struct GpuSession {
    pub(super) cpu: CpuSession,
    pub(super) backend: Arc<dyn Backend>,
    device: Device,
    pub(super) plan: layout::Plan,
    _plan_memory: Buffer,
    pub(super) threads: u32,
    /// Inputs that all fits of given data (data that are not toys) share, or the reason why the CPU makes these fits.
    pub(super) given_kind: Result<DeviceFitKind, LeftToCpu>,
    /// Placement of the arrays that the computation of Hessians needs; `None` if the CPU computes Hessians.
    pub(super) hessians: Option<HessianPlacement>,
    /// Idle lanes (streams on the device) with their memory.
    slots: Mutex<Vec<Slot>>,
    /// Cache of the inputs that batches of toys share.
    pub(super) prepared: RecentCache<Prepared>,
    /// Cache of sources of toys, which contain the distributions from which toys are drawn.
    sources: RecentCache<ToySource>,
    pub(super) check: Mutex<DeviceCheck>,
    /// Reason why the device last left fits to the CPU; `None` if it has not left any fits to the CPU so far.
    left: Mutex<Option<LeftToCpu>>,
}

impl GpuSession {
    /// Compiles `model` and uploads it to `device`, which `backend` drives.
    ///
    /// # Errors
    /// If the model is inconsistent, or the precision is not f64. Also if the memory of the device, or the part of it
    /// that `execution` allows, is too small.
    pub(super) fn open(
        model: &Model,
        execution: &Execution,
        device: Device,
        backend: Arc<dyn Backend>,
    ) -> Result<Self, SessionError> {
        execution.check_precision(device, Precision::F64)?;
        Self::on(CpuSession::open(model, execution)?, backend, device)
    }

    /// Opens a session for the model that the session `cpu` has compiled.
    pub(super) fn on(
        cpu: CpuSession,
        backend: Arc<dyn Backend>,
        device: Device,
    ) -> Result<Self, SessionError> {
        if cpu.plan.has_formula_terms() {
            return Err(SessionError::DeviceUnavailable {
                device,
                reason:
                    "models with event channels or constraint terms of functions are evaluated on the CPU"
                        .to_owned(),
                remedy: "Choose the device cpu or auto".to_owned(),
            });
        }
        if let Some(why) = cpu.plan.why_not_on_gpus() {
            return Err(SessionError::DeviceUnavailable {
                device,
                reason: why.to_owned(),
                remedy: "Choose the device cpu or auto".to_owned(),
            });
        }
        let backend = Limited::around(backend, device, cpu.memory_limit);
        let mut arena = Arena::default();
        let (plan, _) = upload::plan(&cpu.plan, &mut arena);
        let memory = arena.upload(&backend)?;
        let plan = moved(plan, memory.start());
        let threads = shape::threads(&plan);
        let hessians = HessianPlacement::new(&cpu.plan, &plan);
        let mut session = Self {
            cpu,
            backend,
            device,
            plan,
            _plan_memory: memory,
            threads,
            given_kind: Err(LeftToCpu::Large),
            hessians,
            slots: Mutex::default(),
            prepared: RecentCache::default(),
            sources: RecentCache::default(),
            check: Mutex::default(),
            left: Mutex::default(),
        };
        session.given_kind = session.prepare_given_kind()?;
        Ok(session)
    }

    /// Prepares the inputs that all fits of given data share. The Gauss-Newton metric is computed at the initial
    /// parameter values of the model, so it does not depend on the batch.
    ///
    /// Returns a reason instead if the CPU must make the fits. This happens if no metric can be prepared for the
    /// model, or if descents may end on a ridge between two minima.
    fn prepare_given_kind(&self) -> Result<Result<DeviceFitKind, LeftToCpu>, SessionError> {
        let plan = &self.cpu.plan;
        let domain = FitDomain::new(&plan.structure.table, &FitRequest::default());
        let mut worker = take(&self.cpu.workers, plan);
        let fitter = ToyFitter::new(
            self.cpu.level,
            plan,
            &plan.structure.table.init,
            &self.cpu.observed.aux,
            (domain.lower, domain.upper, &domain.fixed),
            Further::Shared,
            true,
            &Vec::new,
            &mut worker.scratch,
        );
        put(&self.cpu.workers, worker);
        let Some(fitter) = fitter else { return Ok(Err(self.unsuitable())) };
        // Fits of given data make a search only on request. Without one, nothing moves them away from a ridge.
        if fitter.has_ridge() {
            return Ok(Err(LeftToCpu::Ridge));
        }
        DeviceFitKind::new(&self.backend, &fitter, plan.n_bins(), plan.structure.has_kinks).map(Ok)
    }

    /// Returns the reason why the kernels do not suit a model for which no [`ToyFitter`] can be made.
    pub(super) fn unsuitable(&self) -> LeftToCpu {
        if is_too_large_for_gpus(&self.cpu.plan) { LeftToCpu::Large } else { LeftToCpu::WithoutEffect }
    }

    /// Records the reason why the CPU makes fits. [`Session::left_to_cpu`] returns it.
    pub(super) fn note_left(&self, why: LeftToCpu) {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
    }

    /// Returns whether a fit on the device also starts from further starting points, which all fits of one kind share.
    /// It does not if the request asks for a single descent. In models with kinks it does so only if the request asks
    /// for a search, as on the CPU.
    pub(super) fn looks(&self, request: &FitRequest) -> bool {
        !request.single_descent && (!self.cpu.plan.structure.has_kinks || request.search != Search::Local)
    }

    /// Chooses the kernel, and the placement of its arrays, for fits whose metric has this size. If `whole_fit` is
    /// false, only the arrays of an evaluation are placed. The kernel is `in_shared` if the most used arrays fit in
    /// shared memory, and `in_global` otherwise.
    pub(super) fn program(
        &self,
        size: Size,
        whole_fit: bool,
        in_shared: Kernel,
        in_global: Kernel,
    ) -> Result<Program, SessionError> {
        let (properties, threads) = (self.backend.properties(), self.threads);
        let placement = shape::place_arrays(&self.plan, size, whole_fit, properties);
        let kernel = if placement.in_shared { in_shared } else { in_global };
        let resident = self.backend.resident(kernel, threads, placement.shared)?;
        let blocks = resident.min(shape::most_slabs(properties, placement.slab, usize::MAX));
        Ok(Program { kernel, placement, blocks, threads })
    }

    /// Returns a launcher for fits whose metric has this size.
    pub(super) fn launcher(&self, size: Size) -> Result<Launcher<'_>, SessionError> {
        let size = shape::with_own_derivatives(&self.plan, size, self.backend.properties());
        let in_shared = if size.own { Kernel::FitOwn } else { Kernel::Fit };
        Ok(Launcher {
            backend: &self.backend,
            plan: &self.plan,
            fit: self.program(size, true, in_shared, Kernel::FitGlobal)?,
            evaluate: self.program(Size::default(), false, Kernel::Evaluate, Kernel::EvaluateGlobal)?,
        })
    }

    /// Returns an idle lane with its memory, or a new lane if all lanes are in use.
    pub(super) fn take_slot(&self) -> Result<Slot, SessionError> {
        let shelved = self.slots.lock().unwrap_or_else(PoisonError::into_inner).pop();
        shelved.map_or_else(|| Slot::new(&self.backend), Ok)
    }

    /// Stores a lane whose work has ended, for later launches.
    pub(super) fn put_slot(&self, slot: Slot) {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).push(slot);
    }

    /// Calls `some` for ranges that together contain `count` tasks, on the threads of the CPU session. Returns the
    /// outcomes in the order of the tasks. Before these calls, the same threads call `other` with the numbers 0 to
    /// `extra - 1`.
    pub(super) fn settle_all(
        &self,
        count: usize,
        some: &SettleTasks<'_>,
        extra: usize,
        other: &(dyn Fn(usize) + Sync),
    ) -> Vec<TaskOutcome> {
        // The CPU takes long for the tasks that it finishes. Therefore even a few of them are distributed over the
        // threads.
        let block = if count < BLOCK * BLOCKS { count.div_ceil(BLOCKS).max(1) } else { BLOCK };
        self.settle_on(usize::MAX, (count, block), some, extra, other)
    }

    /// Calls `some` for ranges of `count` toys whose fits the CPU makes, in the same way as [`Self::settle_all`]. The
    /// toys of one range are fitted together in SIMD lanes. Every thread gets one range, or several ranges if there
    /// are many toys.
    pub(super) fn settle_together(
        &self,
        count: usize,
        some: &SettleTasks<'_>,
        extra: usize,
        other: &(dyn Fn(usize) + Sync),
    ) -> Vec<TaskOutcome> {
        let threads = self.cpu.pool.as_deref().map_or(1, Pool::threads);
        let block = count.div_ceil(threads).clamp(1, BLOCK);
        self.settle_on(usize::MAX, (count, block), some, extra, other)
    }

    /// Calls `some` for ranges of `count` tasks in the same way as [`Self::settle_all`], but on few threads. It is
    /// used for tasks whose outcomes only have to be copied. Copying takes less time than waking more threads.
    pub(super) fn settle_short(&self, count: usize, some: &SettleTasks<'_>) -> Vec<TaskOutcome> {
        let block = if count < BLOCK * BLOCKS { count.div_ceil(BLOCKS).max(1) } else { BLOCK };
        self.settle_on(READERS, (count, block), some, 0, &|_| ())
    }

    fn settle_on(
        &self,
        threads: usize,
        (count, block): (usize, usize),
        some: &SettleTasks<'_>,
        extra: usize,
        other: &(dyn Fn(usize) + Sync),
    ) -> Vec<TaskOutcome> {
        let mut outcomes: Vec<TaskOutcome> = Vec::new();
        outcomes.resize_with(count, || TaskOutcome { fits: Vec::new() });
        let blocks: Vec<Mutex<&mut [TaskOutcome]>> = outcomes.chunks_mut(block).map(Mutex::new).collect();
        let pieces = extra + blocks.len();
        Pool::each(self.cpu.pool.as_deref(), threads, pieces, &|number| {
            let Some(number) = number.checked_sub(extra) else { return other(number) };
            // No other thread works on this block.
            let Some(places) = blocks.get(number) else { return };
            let mut places = places.lock().unwrap_or_else(PoisonError::into_inner);
            let first = number * block;
            let made = some(first..first + places.len());
            for (place, outcome) in places.iter_mut().zip(made) {
                *place = outcome;
            }
        });
        drop(blocks);
        outcomes
    }

    /// Increases the number of fits in the session's [`DeviceCheck`] by `own`, the number of fits whose results the
    /// device certified.
    pub(super) fn count_own(&self, own: u64) {
        let mut check = self.check.lock().unwrap_or_else(PoisonError::into_inner);
        check.merge(&DeviceCheck { n_fits: own, ..DeviceCheck::default() });
    }

    /// Calls `work` with a worker of the CPU session. A worker is the working memory of a thread.
    pub(super) fn lend(&self, work: &mut dyn FnMut(&mut Worker)) {
        let mut worker = take(&self.cpu.workers, &self.cpu.plan);
        work(&mut worker);
        put(&self.cpu.workers, worker);
    }
}

impl Session for GpuSession {
    fn device(&self) -> Device {
        self.device
    }

    fn parameters(&self) -> &ParameterTable {
        self.cpu.table()
    }

    fn fit_batch(
        &self,
        tasks: &[FitTask],
        wanted: OutcomeParts,
        control: Control<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), SessionError> {
        for task in tasks {
            check_task(&self.cpu.plan, task)?;
        }
        let wanted = parts_of(self.cpu.plan.n_parameters(), wanted);
        let make = |task_kind, now: &[FitTask], deliver: &mut DeliverOutcomes<'_>| match task_kind {
            TaskKind::Drawn => {
                let queue = ChunkQueue::new(
                    now.iter().map(|task| task.data.count()),
                    1,
                    |_| ChunkSizes::WHOLE,
                    control,
                );
                let done = self.run_drawn(now, wanted, control, &queue, &mut |finished| {
                    deliver(finished.outcomes);
                    if finished.whole {
                        queue.handed_on();
                    }
                })?;
                Ok(TasksDone { done, left: 1 })
            }
            TaskKind::Given => {
                let now = now.get(..self.given_at_a_time(now, wanted)).unwrap_or(now);
                let Some(outcomes) = self.run_given(now, wanted, control)? else {
                    return Ok(TasksDone { done: 0, left: now.len() });
                };
                deliver(outcomes);
                Ok(TasksDone { done: now.len(), left: 0 })
            }
            TaskKind::DrawnLeft | TaskKind::GivenLeft => Ok(TasksDone { done: 0, left: now.len() }),
        };
        in_parts((tasks, self.cpu.plan.structure.has_kinks), wanted, control, sink, &make, &|_| &self.cpu)
    }

    fn evaluate(
        &self,
        data: &Data,
        points: &[f64],
        request: EvaluationRequest,
    ) -> Result<Evaluation, SessionError> {
        // The kernels use the numbers of the compiled model. The CPU therefore evaluates points for which numbers are
        // replaced.
        if data.yields.is_some() {
            return self.cpu.evaluate(data, points, request);
        }
        self.evaluate_points(data, points, request)
    }

    fn asimov_for(&self, parameters: &[f64], visited: &[&[f64]], of: &Data) -> Result<Data, SessionError> {
        self.cpu.asimov_for(parameters, visited, of)
    }

    fn toy_source(
        &self,
        parameters: &[f64],
        of: &Data,
        seed: u64,
        hypothesis: u8,
    ) -> Result<Arc<ToySource>, SessionError> {
        if of.yields.is_some() {
            return self.cpu.toy_source(parameters, of, seed, hypothesis);
        }
        if let Some(known) = self.sources.find(|known| is_of(known, parameters, seed, hypothesis)) {
            return Ok(known);
        }
        let made = self.cpu.toy_source(parameters, of, seed, hypothesis)?;
        self.sources.keep(&made);
        Ok(made)
    }

    fn saturated_nll(&self, data: &Data) -> Result<Option<f64>, SessionError> {
        self.cpu.saturated_nll(data)
    }

    fn cpu(&self) -> Option<&dyn Session> {
        Some(&self.cpu)
    }

    fn check(&self) -> Option<DeviceCheck> {
        Some(*self.check.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn left_to_cpu(&self) -> Option<LeftToCpu> {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
