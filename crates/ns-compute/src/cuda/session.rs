//! A compiled model on an NVIDIA GPU.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use ns_core::{
    Control, Data, Device, DeviceCheck, Drawn, Evaluation, EvaluationRequest, Execution, FitTask, Model,
    ParameterTable, Session, SessionError, Sink, TaskOutcome, ToySource, Wanted,
};

use super::arena::Arena;
use super::backend::{Backend, Buffer, Kernel};
use super::batch::{Input, Landed, Launcher, ToyRange, Workspace};
use super::draws;
use super::kind::{Kind, PLAN_COUNTS, Size, relocate};
use super::settle::Settling;
use super::{layout, shape, upload};
use crate::cpu::request::{Frame, check_task};
use crate::cpu::{CpuSession, put, take};
use crate::eval::Dataset;
use crate::lanes::Course;
use crate::optimise::Worker;

/// Tasks with given data of one launch.
pub(super) const MOST_GIVEN: usize = 8192;
/// What one launch of toys may bring back, bytes, and how many toys it has at least.
const MOST_BROUGHT: usize = 64 << 20;
const FEWEST_TOYS: usize = 512;

/// A compiled model on one CUDA device, with a session of the processor beside it that finishes what the device
/// leaves, searches where a request asks for it, computes uncertainties and checks.
pub struct CudaSession {
    pub(super) cpu: CpuSession,
    pub(super) backend: Arc<dyn Backend>,
    device: Device,
    pub(super) plan: layout::Plan,
    _plan_memory: Buffer,
    pub(super) threads: u32,
    /// For fits of given data; `None` where these are left to the processor.
    nearby: Option<Kind>,
    workspace: Mutex<Workspace>,
    pub(super) check: Mutex<DeviceCheck>,
}

impl CudaSession {
    /// Compiles `model` and uploads it to the device that `execution` names (`cuda`: the first one).
    ///
    /// # Errors
    /// If there is no driver, no such device, or not enough of its memory; if the model is inconsistent.
    #[cfg(feature = "cuda")]
    pub fn open(model: &Model, execution: &Execution) -> Result<Self, SessionError> {
        let index = match execution.device {
            Device::Cuda(index) => index,
            _ => 0,
        };
        let backend = super::driver::open(index)?;
        Self::on(CpuSession::open(model, execution)?, backend, Device::Cuda(index))
    }

    /// The same kernels compiled for the processor: slow, for tests of their numbers.
    ///
    /// # Errors
    /// If the model is inconsistent.
    #[cfg(feature = "cuda-on-host")]
    pub fn open_on_host(model: &Model, execution: &Execution) -> Result<Self, SessionError> {
        let backend: Arc<dyn Backend> = Arc::new(super::host::Host::new());
        Self::on(CpuSession::open(model, execution)?, backend, Device::Cuda(0))
    }

    pub(super) fn on(cpu: CpuSession, backend: Arc<dyn Backend>, device: Device) -> Result<Self, SessionError> {
        let mut arena = Arena::default();
        let mut plan = upload::plan(&cpu.plan, &mut arena);
        let memory = arena.upload(&backend)?;
        relocate(&mut plan, PLAN_COUNTS, memory.address());
        let threads = shape::threads(&plan);
        let mut session = Self {
            cpu,
            backend,
            device,
            plan,
            _plan_memory: memory,
            threads,
            nearby: None,
            workspace: Mutex::default(),
            check: Mutex::default(),
        };
        session.nearby = session.prepare_nearby()?;
        Ok(session)
    }

    /// The metric of fits of given data: at the model's suggested values, so that it depends on no batch.
    fn prepare_nearby(&self) -> Result<Option<Kind>, SessionError> {
        let plan = &self.cpu.plan;
        let frame = Frame::new(&plan.table, &ns_core::FitRequest::default());
        let mut worker = take(&self.cpu.workers, plan);
        let course = Course::new(
            self.cpu.level,
            plan,
            &plan.table.init,
            &self.cpu.observed.aux,
            (frame.lower, frame.upper, &frame.fixed),
            false,
            &mut worker.scratch,
        );
        put(&self.cpu.workers, worker);
        course.map(|course| Kind::new(&self.backend, &course, plan.n_bins(), false)).transpose()
    }

    /// Runs `work` with a launcher for fits of this size.
    fn launch<R>(
        &self,
        size: Size,
        work: impl FnOnce(&Launcher<'_>) -> Result<R, SessionError>,
    ) -> Result<R, SessionError> {
        let properties = self.backend.properties();
        let rooms = shape::rooms(&self.plan, size, true, properties);
        let kernel = if rooms.near { Kernel::Fit } else { Kernel::FitFar };
        let resident = self.backend.occupancy(
            kernel,
            self.threads,
            rooms.shared as u32,
        )?;
        let blocks = resident.max(1) * properties.multiprocessors;
        work(&Launcher {
            backend: &self.backend,
            plan: &self.plan,
            rooms: &rooms,
            kernel,
            threads: self.threads,
            blocks,
        })
    }

    /// Settles `count` tasks on the threads of the processor's session, in order.
    fn settle_all(&self, count: usize, one: &(dyn Fn(usize) -> TaskOutcome + Sync)) -> Vec<TaskOutcome> {
        use rayon::prelude::*;
        match &self.cpu.pool {
            Some(pool) if count > 1 => pool.install(|| (0..count).into_par_iter().map(one).collect()),
            _ => (0..count).map(one).collect(),
        }
    }

    /// Lends a worker of the processor's session.
    fn lend(&self, work: &mut dyn FnMut(&mut Worker)) {
        let mut worker = take(&self.cpu.workers, &self.cpu.plan);
        work(&mut worker);
        put(&self.cpu.workers, worker);
    }

    /// Fits of given data.
    pub(super) fn run_given(
        &self,
        tasks: &[FitTask],
        wanted: Wanted,
        control: Control<'_>,
    ) -> Result<Option<Vec<TaskOutcome>>, SessionError> {
        let released = tasks.iter().flat_map(|task| &task.fits).any(|request| !request.released.is_empty());
        let Some(kind) = self.nearby.as_ref().filter(|_| !released) else { return Ok(None) };
        let table = self.cpu.table();
        let mut input = Input::new();
        let mut firsts = Vec::with_capacity(tasks.len());
        let mut n_fits = 0;
        for task in tasks {
            for request in &task.fits {
                input.request(table, request, kind);
            }
            let data = match &task.data {
                Data::Binned(binned) => input.data(&binned.main, &binned.aux),
                _ => input.data(&self.cpu.observed.main, &self.cpu.observed.aux),
            };
            input.item(task.fits.len(), data);
            firsts.push(n_fits);
            n_fits += task.fits.len();
        }
        let mut workspace = self.workspace.lock().unwrap_or_else(PoisonError::into_inner);
        let landed = self.launch(kind.size, |launcher| launcher.run(&mut workspace, input, None))?;
        drop(workspace);
        let settle = |i: usize| {
            let task = &tasks[i];
            let frames: Vec<Frame> = task.fits.iter().map(|request| Frame::new(table, request)).collect();
            // Checked before: the data are of a kind that the session knows.
            let own = self.cpu.dataset(&task.data).ok().flatten();
            let data = own.as_ref().unwrap_or(&self.cpu.observed);
            let saturated = data.saturated_main + data.saturated_constraint;
            Settling { cpu: &self.cpu, task, frames: &frames, wanted, control, courses: &[] }.task(
                &landed,
                firsts[i],
                Some(saturated),
                &|| data.clone(),
                &mut |work| self.lend(work),
            )
        };
        let outcomes = self.settle_all(tasks.len(), &settle);
        self.check_fits(&landed, tasks, &outcomes, &|i| {
            let own = self.cpu.dataset(&tasks[i].data).ok().flatten();
            own.unwrap_or_else(|| (*self.cpu.observed).clone())
        })?;
        Ok(Some(outcomes))
    }

    /// Fits of toys, chunk after chunk: while the device works on one, the processor settles the last. `more` gives
    /// the next toys, at most so many, `None` at the end; it may wait if told that nothing is left to settle.
    pub(super) fn run_drawn(
        &self,
        task: &FitTask,
        drawn: &Drawn,
        wanted: Wanted,
        control: Control<'_>,
        more: &mut dyn FnMut(u64, bool) -> Option<Range<u64>>,
        deliver: &mut dyn FnMut(Range<u64>, Vec<TaskOutcome>),
    ) -> Result<bool, SessionError> {
        let source = drawn.source.as_ref();
        let courses = self.cpu.courses(source, &task.fits);
        if courses.iter().any(Option::is_none) {
            return Ok(false);
        }
        let n_bins = self.cpu.plan.n_bins();
        let kinds = courses.iter().flatten().map(|course| Kind::new(&self.backend, course, n_bins, true));
        let kinds = kinds.collect::<Result<Vec<Kind>, SessionError>>()?;
        let size = kinds.iter().fold(Size::default(), |size, kind| size.max(kind.size));
        let sources = draws::Uploaded::new(&self.backend, source)?;
        let table = self.cpu.table();
        let frames: Vec<Frame> = task.fits.iter().map(|request| Frame::new(table, request)).collect();
        let per_toy = Launcher::bytes_per_fit(&self.plan) * task.fits.len().max(1);
        let chunk = (MOST_BROUGHT / per_toy).max(FEWEST_TOYS) as u64;
        let run = |first: u64, count: u64| -> Result<Landed, SessionError> {
            let mut input = Input::new();
            for (request, kind) in task.fits.iter().zip(&kinds) {
                input.request(table, request, kind);
            }
            let toys = ToyRange { draws: sources.address(), first, count: count as usize };
            let mut workspace = self.workspace.lock().unwrap_or_else(PoisonError::into_inner);
            self.launch(size, |launcher| launcher.run(&mut workspace, input, Some(toys)))
        };
        let data_of = |toy: u64| {
            let mut data = Dataset::empty(&self.cpu.plan);
            source.draw_into(toy, &mut data.main, &mut data.aux);
            data.saturate(&self.cpu.plan);
            data
        };
        let constant = self.cpu.plan.gaussian.constant;
        let mut settle = |first: u64, count: u64, landed: &Landed| -> Result<(), SessionError> {
            let one = |i: usize| {
                let settling = Settling { cpu: &self.cpu, task, frames: &frames, wanted, control, courses: &courses };
                let place = i * task.fits.len();
                let drawn = landed.outcomes.get(place).map(|outcome| outcome.saturated + constant);
                settling.task(landed, place, drawn, &|| data_of(first + i as u64), &mut |work| self.lend(work))
            };
            let outcomes = self.settle_all(count as usize, &one);
            self.check_fits(landed, std::slice::from_ref(task), &outcomes, &|i| data_of(first + i as u64))?;
            deliver(first..first + count, outcomes);
            Ok(())
        };
        let mut waiting: Option<(u64, u64, Landed)> = None;
        loop {
            let taken = more(chunk, waiting.is_none());
            if taken.is_none() && waiting.is_none() {
                return Ok(true);
            }
            let taken = taken.map(|toys| (toys.start, toys.end - toys.start));
            waiting = std::thread::scope(|scope| {
                let running = taken.map(|(first, count)| scope.spawn(move || run(first, count)));
                let settled = match waiting.take() {
                    Some((first, count, landed)) => settle(first, count, &landed),
                    None => Ok(()),
                };
                let landed = running.map(|running| {
                    running.join().unwrap_or_else(|payload| std::panic::resume_unwind(payload))
                });
                settled.and(landed.transpose())
            })?
            .zip(taken)
            .map(|(landed, (first, count))| (first, count, landed));
        }
    }
}

/// How many of the first tasks go together: one of toys, or tasks with given data that either all release
/// parameters, which is left to the processor, or all release none.
pub(super) fn together(tasks: &[FitTask]) -> usize {
    let releases = |task: &FitTask| task.fits.iter().any(|request| !request.released.is_empty());
    let kind = |task: &FitTask| match task.data {
        Data::Drawn(_) => None,
        _ => Some(releases(task)),
    };
    match tasks.first().map(kind) {
        None => 0,
        Some(None) => 1,
        Some(first) => tasks.iter().take_while(|task| kind(task) == first).count(),
    }
}

/// Passes on what another session delivers, under later numbers.
pub(super) struct Shifted<'a> {
    pub(super) sink: &'a mut dyn Sink,
    pub(super) by: usize,
    pub(super) delivered: usize,
}

impl Sink for Shifted<'_> {
    fn accept(&mut self, index: usize, outcome: TaskOutcome) {
        self.delivered += 1;
        self.sink.accept(self.by + index, outcome);
    }
}

impl Session for CudaSession {
    fn device(&self) -> Device {
        self.device
    }

    fn parameters(&self) -> &ParameterTable {
        self.cpu.table()
    }

    fn fit_batch(
        &self,
        tasks: &[FitTask],
        wanted: Wanted,
        control: Control<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), SessionError> {
        for task in tasks {
            check_task(&self.cpu.plan, task)?;
        }
        let total: u64 = tasks.iter().map(|task| task.data.count() * task.fits.len() as u64).sum();
        let (mut index, mut fits) = (0, 0);
        let mut rest = tasks;
        while let Some(task) = rest.first() {
            if control.is_cancelled() {
                break;
            }
            let (now, later) = rest.split_at(together(rest).min(MOST_GIVEN));
            rest = later;
            let mut deliver = |outcomes: Vec<TaskOutcome>| {
                for outcome in outcomes {
                    fits += outcome.fits.len();
                    sink.accept(index, outcome);
                    index += 1;
                }
                control.progress(fits, usize::try_from(total).unwrap_or(usize::MAX));
            };
            let done = match &task.data {
                Data::Drawn(drawn) => {
                    let (mut next, end) = (drawn.toys.start, drawn.toys.end);
                    let mut more = |most: u64, _: bool| {
                        let first = next;
                        next = end.min(first.saturating_add(most));
                        (first < next && !control.is_cancelled()).then_some(first..next)
                    };
                    let mut deliver = |_, outcomes| deliver(outcomes);
                    self.run_drawn(task, drawn, wanted, control, &mut more, &mut deliver)?
                }
                _ => match self.run_given(now, wanted, control)? {
                    Some(outcomes) => {
                        deliver(outcomes);
                        true
                    }
                    None => false,
                },
            };
            if !done {
                let mut shifted = Shifted { sink, by: index, delivered: 0 };
                self.cpu.fit_batch(now, wanted, control, &mut shifted)?;
                index += shifted.delivered;
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
        self.evaluate_points(data, points, request)
    }

    fn asimov(&self, parameters: &[f64]) -> Result<Data, SessionError> {
        self.cpu.asimov(parameters)
    }

    fn toy_source(
        &self,
        parameters: &[f64],
        seed: u64,
        hypothesis: u8,
    ) -> Result<Arc<ToySource>, SessionError> {
        self.cpu.toy_source(parameters, seed, hypothesis)
    }

    fn saturated_nll(&self, data: &Data) -> Result<f64, SessionError> {
        self.cpu.saturated_nll(data)
    }

    fn check(&self) -> Option<DeviceCheck> {
        Some(*self.check.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
