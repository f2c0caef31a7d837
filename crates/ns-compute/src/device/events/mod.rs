//! Sums over events on a device, for fits of many events. The optimiser and everything else run on the CPU.

mod layout;
mod session;
mod sums;
mod upload;

pub use session::EventGpuSession;
#[cfg(feature = "cuda")]
pub(crate) use sums::FEWEST_EVENTS;

#[cfg(test)]
pub(super) use layout::{event_codes, structures};
