//! Sessions on GPUs, by name of the kind, and the GPUs of this machine.
//!
//! A build without the feature of a kind, and a machine without such a device, give the same typed error: it
//! says what is missing and what to do.

use ns_core::{Device, Execution, Model, Session, SessionError};

/// What always works.
pub(crate) const USE_CPU: &str = "Use --device cpu: it supports every model";

/// A card as the driver describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Card {
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) memory: u64,
    pub(crate) capability: (u32, u32),
    /// 13000 for CUDA 13.0.
    pub(crate) driver: u32,
    pub(crate) multiprocessors: usize,
}

/// A session on an NVIDIA GPU: the card that `execution` names, or the first.
///
/// # Errors
/// [`SessionError::DeviceUnavailable`] if this build has no CUDA backend, or this machine no driver or card
/// that it can use; [`SessionError::TooLarge`] if the model does not fit the card's memory.
pub fn cuda_session(model: &Model, execution: &Execution) -> Result<Box<dyn Session>, SessionError> {
    let device = match execution.device {
        device @ Device::Cuda(_) => device,
        _ => Device::Cuda(0),
    };
    cuda::open(model, &Execution { device, ..execution.clone() })
}

/// A session on an Apple GPU.
///
/// # Errors
/// [`SessionError::DeviceUnavailable`]: no build has a Metal backend yet.
pub fn metal_session(_model: &Model, _execution: &Execution) -> Result<Box<dyn Session>, SessionError> {
    Err(no_metal())
}

/// The CUDA cards that a session can be opened on; at least one.
///
/// # Errors
/// [`SessionError::DeviceUnavailable`] says why there is none.
pub(crate) fn cuda_cards() -> Result<Vec<Card>, SessionError> {
    cuda::cards()
}

/// Whether this process has used a GPU before.
pub(crate) fn is_warm() -> bool {
    cuda::is_warm()
}

/// The card that `auto` considers, or why there is none.
pub(crate) fn best_card() -> Result<crate::device::Card, String> {
    match cuda_cards() {
        Ok(cards) => match cards.first() {
            Some(card) => Ok(crate::device::Card::new(
                card.index,
                &card.name,
                card.capability,
                card.multiprocessors,
                is_warm(),
            )),
            None => Err("the driver lists none".to_owned()),
        },
        Err(SessionError::DeviceUnavailable { reason, .. }) => Err(reason),
        Err(error) => Err(error.to_string()),
    }
}

pub(crate) fn no_metal() -> SessionError {
    unavailable(Device::Metal, "this build has no Metal backend")
}

pub(crate) fn no_vulkan() -> SessionError {
    unavailable(Device::Vulkan, "this build has no Vulkan backend")
}

pub(crate) fn unknown(device: Device) -> SessionError {
    unavailable(device, "this build does not know it")
}

fn unavailable(device: Device, reason: &str) -> SessionError {
    SessionError::DeviceUnavailable { device, reason: reason.to_owned(), remedy: USE_CPU.to_owned() }
}

mod cuda {
    //! What a build without CUDA says.

    use super::{Card, Device, Execution, Model, Session, SessionError, unavailable};

    fn missing(device: Device) -> SessionError {
        unavailable(device, "this build has no CUDA backend")
    }

    pub(super) fn open(_model: &Model, execution: &Execution) -> Result<Box<dyn Session>, SessionError> {
        Err(missing(execution.device))
    }

    pub(super) fn cards() -> Result<Vec<Card>, SessionError> {
        Err(missing(Device::Cuda(0)))
    }

    pub(super) fn is_warm() -> bool {
        false
    }
}
