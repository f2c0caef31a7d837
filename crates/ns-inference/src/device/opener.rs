//! Opens the sessions of models that an analysis makes itself.

use ns_core::{Device, Execution, Model, Session, SessionError};

use super::open_session;

/// Opens the sessions of models that an analysis makes itself, such as a model with a value of a parameter per channel.
///
/// An [`Execution`] opens sessions with threads of their own. A server opens sessions that share its threads.
pub trait SessionOpener {
    /// Opens a session of `model`, on `device` if it is given, and otherwise on the device of the analysis.
    /// [`Device::Auto`] means the CPU.
    ///
    /// # Errors
    /// The errors of [`open_session`].
    fn open(&self, model: &Model, device: Option<Device>) -> Result<Box<dyn Session>, SessionError>;
}

impl SessionOpener for Execution {
    fn open(&self, model: &Model, device: Option<Device>) -> Result<Box<dyn Session>, SessionError> {
        let device = device.unwrap_or(self.device);
        open_session(model, &Self { device, ..self.clone() })
    }
}
