//! Sessions of models that an analysis makes itself, such as a model with a value of a parameter per channel.

use std::sync::Arc;

use ns_core::{Device, Execution, Model, Session, SessionError};
use ns_inference::{CpuSession, SessionOpener, open_session};

use crate::devices::Devices;
use crate::pool::{Pace, PooledSession, RequestAccount};

/// Opens sessions whose fits run on the threads that all requests share, for the account of one request.
pub(crate) struct Further<'a> {
    pub(crate) devices: &'a Devices,
    pub(crate) account: &'a Arc<RequestAccount>,
    /// The device of the request.
    pub(crate) device: Device,
}

impl SessionOpener for Further<'_> {
    fn open(&self, model: &Model, device: Option<Device>) -> Result<Box<dyn Session>, SessionError> {
        let execution = self.devices.execution();
        // A thread of the pool runs one piece at a time. The session of a piece therefore has one thread.
        let alone = Execution { threads: 1, device: Device::Cpu, ..execution.clone() };
        let inner: Arc<dyn Session> = Arc::new(CpuSession::open(model, &alone)?);
        let pool = Arc::clone(self.devices.cpu());
        let cpu = PooledSession::new(inner, pool, Arc::default(), Arc::clone(self.account));
        let device = device.unwrap_or(self.device);
        if matches!(device, Device::Cpu | Device::Auto) {
            return Ok(Box::new(cpu));
        }
        let inner = Arc::from(open_session(model, &Execution { device, ..execution.clone() })?);
        let (pool, pace) = (self.devices.gpu(device)?, Arc::new(Pace::of_gpu()));
        Ok(Box::new(PooledSession::new(inner, pool, pace, Arc::clone(self.account)).with_cpu(cpu)))
    }
}
