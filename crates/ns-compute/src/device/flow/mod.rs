//! Computes `-ln L` on a device from log-densities that a neural network has computed for each event.

mod layout;
mod session;

pub use session::{DeviceFlow, FlowData, FlowSums};

#[cfg(test)]
pub(super) use layout::structures;
