//! A compiled model with its sessions.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ns_core::{Device, Execution, Model, Session};
use ns_inference::device::resolve;
use ns_inference::{CpuSession, Work, open_session};
use ns_translate::ModelSource;
use ns_translate::pyhf::{ModelOptions, WorkspaceError};

use crate::allocator::of_thread;
use crate::devices::Devices;
use crate::memory::Reserved;
use crate::pool::{Pace, PooledSession, RequestAccount};
use crate::problem::ServerError;

/// If recent fits of a model took less than this time, the thread that receives a request makes the fit itself.
/// Other requests of this thread then wait for the fit. Passing such a short fit to another thread, and the result
/// back, would take longer.
const BRIEF: Duration = Duration::from_micros(500);

/// A compiled model, with everything that requests for this model share.
pub(crate) struct Compiled {
    /// The workspace. Some requests list its contents.
    pub(crate) workspace: Arc<ModelSource>,
    /// The options, such as interpolation codes, with which the model was built from the workspace.
    pub(crate) options: ModelOptions,
    /// The model.
    pub(crate) model: Model,
    /// Digest of the model.
    pub(crate) digest: String,
    /// Digest of the observed data.
    pub(crate) data_digest: String,
    /// Memory of the working space of one thread, in bytes.
    working: u64,
    devices: Arc<Devices>,
    base: CpuSession,
    cpu: Arc<dyn Session>,
    pace: Arc<Pace>,
    /// Thread time of recent fits of the model, in nanoseconds per fit; 0 before the first fit.
    fit_ns: AtomicU64,
    gpus: Mutex<Vec<OnGpu>>,
    /// The reserved memory of the model; `None` while the model is made. The last field is dropped last.
    reserved: Option<Reserved>,
}

/// The session of a model on a GPU.
#[derive(Clone)]
struct OnGpu {
    device: Device,
    session: Arc<dyn Session>,
    pace: Arc<Pace>,
}

/// A session for one request, and the reason why its device was chosen.
pub(crate) struct Opened {
    pub(crate) session: PooledSession,
    pub(crate) reason: Option<String>,
}

impl Compiled {
    /// Compiles the model of a workspace with the given options. `wrong` makes the error for a workspace without a valid model.
    ///
    /// # Errors
    /// If the workspace has no valid model, or the model is too large.
    pub(super) fn new(
        workspace: Arc<ModelSource>,
        options: ModelOptions,
        wrong: impl FnOnce(WorkspaceError) -> ServerError,
        most_parameters: usize,
        devices: &Arc<Devices>,
    ) -> Result<Self, ServerError> {
        let model = workspace.model(&options).map_err(wrong)?;
        if model.parameters.len() > most_parameters {
            let (actual, limit) = (model.parameters.len() as u64, most_parameters as u64);
            return Err(ServerError::TooLarge { what: "the number of parameters", actual, limit });
        }
        // A thread of the pool runs one piece at a time. The session of a piece therefore has one thread.
        let alone = Execution { threads: 1, device: Device::Cpu, ..devices.execution().clone() };
        let base = CpuSession::open(&model, &alone)?;
        let before = of_thread();
        base.prepare();
        let working = of_thread() - before;
        let cpu: Arc<dyn Session> = Arc::new(base.sharing(&alone)?);
        Ok(Self {
            digest: model.digest(),
            data_digest: model.observed.digest(),
            working: u64::try_from(working).unwrap_or(0),
            reserved: None,
            devices: Arc::clone(devices),
            options,
            workspace,
            model,
            base,
            cpu,
            pace: Arc::default(),
            fit_ns: AtomicU64::new(0),
            gpus: Mutex::default(),
        })
    }

    /// Returns the memory, in bytes, of the working space that other threads will add. Each thread of the pool may run
    /// fits of the model at the same time, and one thread in addition.
    pub(super) fn of_other_threads(&self) -> u64 {
        self.working * self.devices.execution().threads as u64
    }

    /// Returns the model with the reservation of its memory.
    pub(super) fn reserving(self, reserved: Reserved) -> Self {
        Self { reserved: Some(reserved), ..self }
    }

    /// Returns the reserved memory of the model in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.reserved.as_ref().map_or(0, Reserved::bytes)
    }

    /// Returns the memory, in bytes, of a copy of the workspace and of its model, without working space.
    pub(crate) fn of_copy(&self) -> u64 {
        self.bytes().saturating_sub(self.working + self.of_other_threads())
    }

    /// Updates the recorded time of fits of this model with the time of a fit. A longer time replaces the recorded
    /// time at once. A shorter time lowers the recorded time gradually, by an eighth of the difference.
    pub(crate) fn record_fit(&self, time: Duration) {
        let now = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let before = self.fit_ns.load(Ordering::Relaxed);
        self.fit_ns.store(now.max(before / 8 * 7 + now / 8).max(1), Ordering::Relaxed);
    }

    /// Returns true if recent fits took less than [`BRIEF`] each and fits on `device` certainly run on the CPU. The
    /// result is false before the first fit.
    pub(crate) fn fit_is_brief(&self, device: Option<Device>) -> bool {
        let fit = Duration::from_nanos(self.fit_ns.load(Ordering::Relaxed));
        let on_cpu = match device.unwrap_or(self.devices.execution().device) {
            Device::Cpu => true,
            // `auto` chooses the CPU for a single fit. This is certain only if no earlier request has opened
            // a session on a GPU.
            Device::Auto => self.gpus.lock().unwrap_or_else(PoisonError::into_inner).is_empty(),
            _ => false,
        };
        on_cpu && !fit.is_zero() && fit < BRIEF
    }

    /// Opens a session for the work of one request. `device` is the device that the request names, if any. `account`
    /// records the thread time that the request uses. If `here` is true and the session is on the CPU, the calling
    /// thread makes the fits.
    ///
    /// # Errors
    /// If the device is not available or has too little memory.
    pub(crate) fn open(
        &self,
        device: Option<Device>,
        work: Work,
        account: &Arc<RequestAccount>,
        here: bool,
    ) -> Result<Opened, ServerError> {
        let execution = self.devices.execution();
        let execution = Execution { device: device.unwrap_or(execution.device), ..execution.clone() };
        let cpu = || {
            let pool = Arc::clone(self.devices.cpu());
            PooledSession::new(Arc::clone(&self.cpu), pool, Arc::clone(&self.pace), Arc::clone(account))
                .in_caller(here)
        };
        let (gpu, reason) = match execution.device {
            Device::Cpu => (None, None),
            Device::Auto => {
                let (gpu, reason) =
                    resolve(&self.base, &execution, work, |device| self.gpu(device, &execution));
                (gpu, Some(reason))
            }
            device => (Some(self.gpu(device, &execution)?), None),
        };
        let Some(gpu) = gpu else { return Ok(Opened { session: cpu(), reason }) };
        let pool = self.devices.gpu(gpu.device)?;
        let session = PooledSession::new(gpu.session, pool, gpu.pace, Arc::clone(account)).with_cpu(cpu());
        Ok(Opened { session, reason })
    }

    /// Returns the session of the model on the GPU `device`. Opens the session at its first use.
    fn gpu(&self, device: Device, execution: &Execution) -> Result<OnGpu, ns_core::SessionError> {
        let mut gpus = self.gpus.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = gpus.iter().find(|known| known.device == device) {
            return Ok(known.clone());
        }
        let execution = Execution { device, ..execution.clone() };
        let session = Arc::from(open_session(&self.model, &execution)?);
        let opened = OnGpu { device, session, pace: Arc::new(Pace::of_gpu()) };
        gpus.push(opened.clone());
        Ok(opened)
    }
}
