//! The devices of the server, and the threads that run fits on them.

use std::sync::{Arc, Mutex, PoisonError};

use ns_core::{Device, Execution, SessionError};

use crate::pool::Pool;

/// One thread pool for the CPU, and one thread for each GPU in use.
pub(crate) struct Devices {
    execution: Execution,
    cpu: Arc<Pool>,
    gpus: Mutex<Vec<(Device, Arc<Pool>)>>,
}

impl Devices {
    /// Starts the threads that run fits on the CPU. `execution` has the default device of requests, the number of
    /// threads, and the memory limit of a session.
    ///
    /// # Errors
    /// If the system cannot start the threads.
    pub(crate) fn start(execution: Execution) -> std::io::Result<Self> {
        // The number of threads is determined only once, because this reads files of the system.
        let threads = execution.resolved_threads();
        let execution = Execution { threads, ..execution };
        let cpu = Arc::new(Pool::start(threads, true)?);
        Ok(Self { execution, cpu, gpus: Mutex::default() })
    }

    /// Returns the default device of requests, the number of threads and the memory limit.
    pub(crate) fn execution(&self) -> &Execution {
        &self.execution
    }

    /// Returns the thread pool of the CPU.
    pub(crate) fn cpu(&self) -> &Arc<Pool> {
        &self.cpu
    }

    /// Returns the thread that runs the fits on a GPU, as a pool with one thread.
    ///
    /// # Errors
    /// If the system cannot start the thread.
    pub(crate) fn gpu(&self, device: Device) -> Result<Arc<Pool>, SessionError> {
        let mut gpus = self.gpus.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, pool)) = gpus.iter().find(|(known, _)| *known == device) {
            return Ok(Arc::clone(pool));
        }
        let pool = Pool::start(1, false).map_err(|error| SessionError::DeviceUnavailable {
            device,
            reason: error.to_string(),
            remedy: "Let the server start more threads".into(),
        })?;
        let pool = Arc::new(pool);
        gpus.push((device, Arc::clone(&pool)));
        Ok(pool)
    }
}
