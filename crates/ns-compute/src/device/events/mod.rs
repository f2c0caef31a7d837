//! Computes sums over events on a device, for fits of many events and for fits of toys. The device also draws the
//! events of toys. The optimiser and all other code run on the CPU.

mod channel;
mod check;
mod draw;
mod fiber;
mod layout;
mod rows;
mod session;
mod slot;
mod sums;
mod toy_sums;
mod toys;
mod upload;

pub(super) use upload::operation_code;

pub use session::EventGpuSession;
#[cfg(feature = "cuda")]
pub(crate) use sums::FEWEST_EVENTS;

#[cfg(test)]
pub(super) use layout::{event_codes, leaf_kinds, structures};
