//! Computes `-ln L` on a device from log-densities of events, which a neural network has computed.

mod layout;
mod session;

pub use session::{DeviceFlow, FlowData, FlowSums};

#[cfg(test)]
pub(super) use layout::structures;
