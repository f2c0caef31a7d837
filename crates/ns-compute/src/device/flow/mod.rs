//! Computes `-ln L` on a device from log-densities. A neural network has computed these for each event.

mod layout;
mod session;

pub use session::{DeviceFlow, FlowData, FlowSums};

#[cfg(test)]
pub(super) use layout::structures;
