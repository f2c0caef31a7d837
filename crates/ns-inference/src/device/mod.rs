//! Opens sessions on the requested device, and chooses between devices.

mod any_gpu;
mod auto;
mod check;
mod costs;
mod gpu;
mod list;
mod opener;
mod trial;
mod work;

use std::sync::{Arc, OnceLock};

use ns_compute::CpuSession;
use ns_core::{Device, Execution, Model, Session, SessionError};

pub(crate) use auto::GpuCandidate;
pub use auto::{Choice, ModelSize};
pub use check::{Compared, GpuCheck};
pub use list::{DeviceInfo, devices, has_gpu};
pub use opener::SessionOpener;
pub use work::Work;

use gpu::cuda_session;

/// A session, and the reason for the choice of its device.
pub struct Opened {
    /// The session.
    pub session: Box<dyn Session>,
    /// Reason for the choice, with the work and the predicted times. `None` if the caller named the device.
    pub reason: Option<String>,
}

/// Compiles `model` for the device that `execution` names and opens a session. This function takes [`Device::Auto`] to
/// mean the CPU; only [`open_session_for`] chooses between the CPU and a GPU.
///
/// # Errors
/// [`SessionError::DeviceUnavailable`], with reason and remedy, if this build does not support the device or the host
/// does not have it. [`SessionError::MemoryLimit`] if the model needs more than the memory limit.
pub fn open_session(model: &Model, execution: &Execution) -> Result<Box<dyn Session>, SessionError> {
    match execution.device {
        Device::Auto | Device::Cpu => Ok(Box::new(CpuSession::open(model, execution)?)),
        Device::Cuda(_) | Device::CudaAll => cuda_session(model, execution),
        Device::Metal(_) | Device::Vulkan(_) => any_gpu::open(model, execution),
        device => Err(gpu::unknown(device)),
    }
}

/// Returns the devices among which independent models are divided. These are the single GPUs of [`Device::CudaAll`], and
/// the device of `execution` otherwise. A device that is not there stays in the list, and opening a session on it is the
/// error.
pub(crate) fn single_devices(execution: &Execution) -> Vec<Device> {
    let all = match execution.device {
        Device::CudaAll => gpu::all_cuda().unwrap_or_default(),
        _ => Vec::new(),
    };
    if all.is_empty() { vec![execution.device] } else { all }
}

/// Opens a session as [`open_session`] does, except that [`Device::Auto`] means the device with the shorter predicted
/// time for `work`. If the chosen GPU cannot be used, the CPU does the work, and the reason in the result says why.
///
/// # Errors
/// The errors of [`open_session`].
pub fn open_session_for(model: &Model, execution: &Execution, work: Work) -> Result<Opened, SessionError> {
    if execution.device != Device::Auto {
        return Ok(Opened { session: open_session(model, execution)?, reason: None });
    }
    let cpu = CpuSession::open(model, execution)?;
    let (gpu, reason) = resolve(&cpu, execution, work, |device| {
        cuda_session(model, &Execution { device, ..execution.clone() })
    });
    Ok(Opened { session: gpu.unwrap_or_else(|| Box::new(cpu)), reason: Some(reason) })
}

/// Opens a session on a GPU with `open_gpu` if `auto` chooses a GPU for `work`. The first element of the result is the
/// session on the GPU, or `None` if `auto` chooses the CPU or `open_gpu` fails. The second element is the reason for
/// the choice.
pub fn resolve<S>(
    cpu: &CpuSession,
    execution: &Execution,
    work: Work,
    open_gpu: impl FnOnce(Device) -> Result<S, SessionError>,
) -> (Option<S>, String) {
    if cpu.plan().has_formula_terms() && cpu.n_events() == 0 {
        return (None, "models with constraint terms of functions are evaluated on the CPU".to_owned());
    }
    if let Some(why) = cpu.plan().why_not_on_gpus() {
        return (None, why.to_owned());
    }
    let choice = choose_device(cpu, execution, work);
    if choice.device == Device::Cpu {
        return (None, choice.reason);
    }
    match open_gpu(choice.device) {
        Ok(session) => (Some(session), choice.reason),
        Err(error) => (None, format!("{}; but {error}", choice.reason)),
    }
}

/// Returns the device that `auto` chooses for `work`, with the reason. No session is opened on the device. If the work
/// is many toys and a driver of a GPU is installed, the time of a few toys is measured first.
#[must_use]
pub fn choose_device(cpu: &CpuSession, execution: &Execution, work: Work) -> Choice {
    let (mut size, threads) = (ModelSize::of(cpu), execution.resolved_threads());
    if auto::deserves_trial(&size, work, threads, gpu::is_warm()) && gpu::is_installed() {
        size = size.with(trial::measure(cpu));
    }
    auto::choose(&size, work, threads, gpu::is_warm(), gpu::best_gpu)
}

/// Returns the size of a model, and the device that `auto` chooses for each of `jobs`, with the reason. The time on the
/// GPU is always predicted, even if the CPU would finish before a GPU could start. If any job is many toys, the time of a
/// toy is measured.
#[must_use]
pub fn explain_device(cpu: &CpuSession, execution: &Execution, jobs: &[Work]) -> (ModelSize, Vec<Choice>) {
    let (mut size, threads) = (ModelSize::of(cpu), execution.resolved_threads());
    if jobs.iter().any(|work| auto::deserves_trial(&size, *work, threads, true)) {
        size = size.with(trial::measure(cpu));
    }
    let found = gpu::best_gpu();
    let choices = jobs.iter().map(|work| auto::weigh(&size, *work, threads, found.clone())).collect();
    (size, choices)
}

/// Opens a session as [`open_session`] does, but CPU sessions of the same model share one compiled model. The first
/// call compiles the model and stores it in `compiled`.
///
/// # Errors
/// The errors of [`open_session`].
pub fn open_session_sharing(
    model: &Model,
    execution: &Execution,
    compiled: &OnceLock<CpuSession>,
) -> Result<Arc<dyn Session>, SessionError> {
    if !matches!(execution.device, Device::Auto | Device::Cpu) {
        return Ok(Arc::from(open_session(model, execution)?));
    }
    Ok(Arc::new(compiled_session(model, compiled)?.sharing(execution)?))
}

/// Returns a CPU session with the compiled model. The first call compiles the model and stores it in `compiled`.
///
/// # Errors
/// The errors of [`CpuSession::open`].
pub fn compiled_session<'a>(
    model: &Model,
    compiled: &'a OnceLock<CpuSession>,
) -> Result<&'a CpuSession, SessionError> {
    if let Some(base) = compiled.get() {
        return Ok(base);
    }
    let opened = CpuSession::open(model, &Execution { threads: 1, ..Execution::default() })?;
    opened.prepare();
    Ok(compiled.get_or_init(|| opened))
}
