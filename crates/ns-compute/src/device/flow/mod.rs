//! `-ln L` of given log-densities on a device: what neural densities leave to be done for each event.

mod layout;
mod session;

pub use session::{DeviceFlow, FlowData, FlowSums};

#[cfg(test)]
pub(super) use layout::structures;
