//! A compiled model on several GPUs of one host. Each batch is divided between the GPUs. The results have the same
//! bits as those of a single GPU.
//!
//! The outcome of a fit depends only on its task, and the data of a toy depend only on the index of the toy. It does
//! not matter which of several GPUs of the same type makes a fit, or which other fits are in the batch. GPUs of
//! different types may differ in the last bits of results, so they are never used together.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use ns_core::{
    Control, Data, Device, DeviceCheck, Evaluation, EvaluationRequest, Execution, FitTask, LeftToCpu, Model,
    OutcomeParts, ParameterTable, Precision, Session, SessionError, Sink, ToySource,
};

use super::backend::Backend;
use super::chunks::{ChunkQueue, ChunkSizes, FinishedChunk, TakenChunk, run_chunks};
use super::partition::{DeliverOutcomes, TaskKind, TasksDone, in_parts};
use super::session::{GpuSession, MOST_GIVEN};
use crate::cpu::CpuSession;
use crate::task::{check_task, parts_of};

/// Limits that determine when a batch is divided between GPUs, and how large the parts (chunks) are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// Largest number of tasks or toys that one GPU fits alone. For so few fits several GPUs would not be faster.
    pub(super) alone: u64,
    /// Smallest and largest number of toys in a chunk. A GPU without enough memory for the smallest number takes
    /// fewer.
    pub(super) toys: (u64, u64),
    /// Largest number of tasks in a chunk of tasks with given data.
    pub(super) given: u64,
    /// Largest number of points that one GPU evaluates alone.
    pub(super) points: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { alone: 256, toys: (2048, u64::MAX), given: MOST_GIVEN as u64, points: 4096 }
    }
}

/// A compiled model on several GPUs of the same type.
pub struct MultiGpuSession {
    /// CPU session for the fits that the GPUs cannot make.
    cpu: CpuSession,
    gpus: Vec<GpuSession>,
    sizes: Sizes,
}

impl MultiGpuSession {
    /// Opens one session per device. All sessions share the model that was compiled on the CPU. Each session gets an
    /// equal part of the CPU threads.
    ///
    /// # Errors
    /// The errors of [`GpuSession::open`] for any of the devices.
    pub(super) fn open(
        model: &Model,
        execution: &Execution,
        backends: Vec<(Device, Arc<dyn Backend>)>,
    ) -> Result<Self, SessionError> {
        execution.check_precision(Device::CudaAll, Precision::F64)?;
        let cpu = CpuSession::open(model, execution)?;
        let threads = execution.resolved_threads().div_ceil(backends.len().max(1));
        let share = Execution { threads, ..execution.clone() };
        let open = |(device, backend)| GpuSession::on(cpu.sharing(&share)?, backend, device);
        let gpus = backends.into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { cpu, gpus, sizes: Sizes::default() })
    }

    /// Returns the session with other limits, for tests.
    #[cfg(all(test, feature = "cuda-on-host"))]
    pub(super) fn with_sizes(mut self, sizes: Sizes) -> Self {
        self.sizes = sizes;
        self
    }

    /// Fits toys on all GPUs. Returns how many tasks were completed before the first task that the GPUs leave to the
    /// CPU. Returns the number of all tasks if there is no such task.
    fn share_drawn(
        &self,
        tasks: &[FitTask],
        wanted: OutcomeParts,
        control: Control<'_>,
        deliver: &mut DeliverOutcomes<'_>,
    ) -> Result<usize, SessionError> {
        let (n, (fewest, most)) = (self.gpus.len(), self.sizes.toys);
        let chunk_sizes = |toys| ChunkSizes::shrinking(toys, n, fewest, most);
        let queue = ChunkQueue::new(tasks.iter().map(|task| task.data.count()), n, chunk_sizes, control);
        let work = |gpu: &GpuSession, to: &Sender<FinishedChunk>| {
            let mut deliver = |finished| {
                // Sending cannot fail, because the receiver lives longer than all senders.
                let _ = to.send(finished);
            };
            gpu.run_drawn(tasks, wanted, control, &queue, &mut deliver)
        };
        run_chunks(&self.gpus, &queue, &work, deliver)
    }

    /// Makes the fits of tasks with given data on all GPUs. Returns the number of completed tasks: all tasks, or 0 if
    /// the GPUs leave them to the CPU.
    fn share_given(
        &self,
        tasks: &[FitTask],
        wanted: OutcomeParts,
        control: Control<'_>,
        deliver: &mut DeliverOutcomes<'_>,
    ) -> Result<usize, SessionError> {
        let n = tasks.len() as u64;
        let chunk_sizes = |n| ChunkSizes::parts(n, self.gpus.len(), self.sizes.given);
        let queue = ChunkQueue::new([n], self.gpus.len(), chunk_sizes, control);
        let work = |gpu: &GpuSession, to: &Sender<FinishedChunk>| {
            while let Some(TakenChunk { items, .. }) = queue.take(0, n, true) {
                let mut next = items.start;
                while next < items.end {
                    let mine = tasks.get(next as usize..items.end as usize).unwrap_or_default();
                    let mine = mine.get(..gpu.given_at_a_time(mine, wanted)).unwrap_or(mine);
                    let Some(outcomes) = gpu.run_given(mine, wanted, control)? else { return Ok(0) };
                    let made = next..next + mine.len().max(1) as u64;
                    next = made.end;
                    // Sending cannot fail, because the receiver lives longer than all senders.
                    let _ = to.send(FinishedChunk { items: made, outcomes, whole: next == items.end });
                }
            }
            Ok(tasks.len())
        };
        run_chunks(&self.gpus, &queue, &work, deliver)
    }

    /// Computes values, gradients and Hessians at all `points`. Each GPU evaluates an equal part of the points. `n` is
    /// the number of parameters. `points` contains `n` values per point.
    fn evaluate_parts(
        &self,
        data: &Data,
        points: &[f64],
        n: usize,
        request: EvaluationRequest,
    ) -> Result<Evaluation, SessionError> {
        let part = (points.len() / n).div_ceil(self.gpus.len().max(1)).max(1) * n;
        let found: Vec<Result<Evaluation, SessionError>> = std::thread::scope(|scope| {
            let parts = self.gpus.iter().zip(points.chunks(part));
            let threads: Vec<_> =
                parts.map(|(gpu, part)| scope.spawn(|| gpu.evaluate(data, part, request))).collect();
            threads.into_iter().map(joined).collect()
        });
        let mut all = Evaluation::default();
        for part in found {
            let part = part?;
            all.nll.extend(part.nll);
            all.nll_main.extend(part.nll_main);
            all.nll_constraint.extend(part.nll_constraint);
            all.gradient.extend(part.gradient);
            all.hessian.extend(part.hessian);
        }
        Ok(all)
    }
}

/// Waits for the end of a thread and returns its result. If the thread panicked, the panic continues in the
/// calling thread.
pub(super) fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))
}

impl Session for MultiGpuSession {
    fn device(&self) -> Device {
        Device::CudaAll
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
        let few = |tasks: &[FitTask]| {
            let count = tasks.iter().fold(0_u64, |count, task| count.saturating_add(task.data.count()));
            count <= self.sizes.alone
        };
        let make = |task_kind, now: &[FitTask], deliver: &mut DeliverOutcomes<'_>| {
            let none = TasksDone { done: 0, left: now.len() };
            if few(now) {
                return Ok(none);
            }
            match task_kind {
                TaskKind::Drawn => {
                    let done = self.share_drawn(now, wanted, control, deliver)?;
                    Ok(if self.gpus.is_empty() { none } else { TasksDone { done, left: 1 } })
                }
                TaskKind::Given => {
                    let done = self.share_given(now, wanted, control, deliver)?;
                    Ok(TasksDone { done, left: now.len() - done })
                }
                TaskKind::DrawnLeft | TaskKind::GivenLeft => Ok(none),
            }
        };
        let other = |now: &[FitTask]| match self.gpus.first().filter(|_| few(now)) {
            Some(first) => first as &dyn Session,
            None => &self.cpu,
        };
        in_parts((tasks, self.cpu.plan.structure.has_kinks), wanted, control, sink, &make, &other)
    }

    fn evaluate(
        &self,
        data: &Data,
        points: &[f64],
        request: EvaluationRequest,
    ) -> Result<Evaluation, SessionError> {
        let n = self.cpu.plan.n_parameters().max(1);
        let on_gpus = !(request.expected || request.samples);
        let few = !points.len().is_multiple_of(n) || points.len() / n <= self.sizes.points;
        match self.gpus.first() {
            None => self.cpu.evaluate(data, points, request),
            Some(first) if few || !on_gpus => first.evaluate(data, points, request),
            Some(_) => self.evaluate_parts(data, points, n, request),
        }
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
        self.cpu.toy_source(parameters, of, seed, hypothesis)
    }

    fn saturated_nll(&self, data: &Data) -> Result<Option<f64>, SessionError> {
        self.cpu.saturated_nll(data)
    }

    fn cpu(&self) -> Option<&dyn Session> {
        Some(&self.cpu)
    }

    fn check(&self) -> Option<DeviceCheck> {
        let mut all = DeviceCheck::default();
        for check in self.gpus.iter().filter_map(Session::check) {
            all.merge(&check);
        }
        Some(all)
    }

    fn left_to_cpu(&self) -> Option<LeftToCpu> {
        self.gpus.iter().find_map(Session::left_to_cpu)
    }
}

#[cfg(all(test, feature = "cuda-on-host"))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
