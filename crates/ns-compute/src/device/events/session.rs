//! A session of a model with event channels. The device draws the events of toys, and computes the sums over their
//! events. It also computes the sums over observed events if there are many. The CPU does everything else.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ns_core::{
    Control, Data, Device, DeviceCheck, Evaluation, EvaluationRequest, Execution, FitTask, InputTable,
    LeftToCpu, Model, OutcomeParts, ParameterTable, Precision, Pulled, Session, SessionError, Sink,
    SquaredWeights, ToySource,
};

use super::super::backend::Backend;
use super::super::limit::Limited;
use super::sums::EventSums;
use super::toys::EventToys;
use crate::cpu::CpuSession;

/// A compiled model with event channels, which uses one device.
pub struct EventGpuSession {
    cpu: CpuSession,
    sums: Arc<EventSums>,
    toys: Arc<EventToys>,
    device: Device,
    /// Whether the kernels are unable to compute the density of at least one channel.
    lacks: bool,
    /// Value that [`Self::done`] had before the last batch.
    before: AtomicU64,
}

impl EventGpuSession {
    /// Compiles `model` and uploads its channels to `device` with `backend`. For data with fewer than `fewest`
    /// events, the CPU computes the sums.
    ///
    /// # Errors
    /// If the model is inconsistent, or the precision is not f64. Also if the memory of the device, or the part of it
    /// that `execution` allows, is too small.
    pub(crate) fn open(
        model: &Model,
        execution: &Execution,
        device: Device,
        backend: Arc<dyn Backend>,
        fewest: usize,
    ) -> Result<Self, SessionError> {
        execution.check_precision(device, Precision::F64)?;
        let cpu = CpuSession::open(model, execution)?;
        let offloads = cpu.plan.events.offloads();
        let lacks = offloads.iter().any(Option::is_none);
        let backend = Limited::around(backend, device, cpu.memory_limit);
        let sums = Arc::new(EventSums::new(backend, &offloads, fewest)?);
        let toys = Arc::new(EventToys::new(&sums, device));
        let cpu = cpu.with_event_sums(Arc::clone(&sums) as _).with_event_toys(Arc::clone(&toys) as _);
        Ok(Self { cpu, sums, toys, device, lacks, before: AtomicU64::new(0) })
    }

    /// Returns how many times the device has computed sums for an evaluation, plus the number of fits of toys for which
    /// the device computed the sums.
    fn done(&self) -> u64 {
        self.sums.done() + self.toys.done()
    }

    /// Runs `work` and returns its result. If `work` succeeds but the device failed meanwhile, returns the error of
    /// the device.
    fn checked<T>(&self, work: impl FnOnce() -> Result<T, SessionError>) -> Result<T, SessionError> {
        let made = work()?;
        match (self.sums.take_failure(), self.toys.take_failure()) {
            (Some(error), _) | (None, Some(error)) => Err(error),
            (None, None) => Ok(made),
        }
    }
}

impl Session for EventGpuSession {
    fn device(&self) -> Device {
        self.device
    }

    fn parameters(&self) -> &ParameterTable {
        self.cpu.parameters()
    }

    fn fit_batch(
        &self,
        tasks: &[FitTask],
        wanted: OutcomeParts,
        control: Control<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), SessionError> {
        self.before.store(self.done(), Ordering::Relaxed);
        self.checked(|| self.cpu.fit_batch(tasks, wanted, control, sink))
    }

    fn evaluate(
        &self,
        data: &Data,
        points: &[f64],
        request: EvaluationRequest,
    ) -> Result<Evaluation, SessionError> {
        self.checked(|| self.cpu.evaluate(data, points, request))
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

    fn combined_variances(
        &self,
        data: &Data,
        point: &[f64],
        free: &[bool],
        combinations: &[Vec<(usize, f64)>],
    ) -> Result<Option<Vec<f64>>, SessionError> {
        self.checked(|| self.cpu.combined_variances(data, point, free, combinations))
    }

    fn squared_weights(
        &self,
        data: &Data,
        point: &[f64],
        form: SquaredWeights,
    ) -> Result<Option<Vec<f64>>, SessionError> {
        self.checked(|| self.cpu.squared_weights(data, point, form))
    }

    fn inputs(&self) -> &InputTable {
        Session::inputs(&self.cpu)
    }

    fn pull_back(&self, data: &Data, point: &[f64], along: Option<&[f64]>) -> Result<Pulled, SessionError> {
        self.cpu.pull_back(data, point, along)
    }

    fn saturated_nll(&self, data: &Data) -> Result<Option<f64>, SessionError> {
        self.cpu.saturated_nll(data)
    }

    fn cpu(&self) -> Option<&dyn Session> {
        None
    }

    fn check(&self) -> Option<DeviceCheck> {
        Some(self.toys.check()).filter(|check| check.n_fits > 0)
    }

    fn left_to_cpu(&self) -> Option<LeftToCpu> {
        let idle = self.done() == self.before.load(Ordering::Relaxed);
        match (self.lacks, idle) {
            (true, _) => Some(LeftToCpu::Density),
            (false, true) => Some(LeftToCpu::FewEvents),
            (false, false) => None,
        }
    }
}
