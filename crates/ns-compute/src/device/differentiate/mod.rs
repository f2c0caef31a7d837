//! Computes `-ln L` and its derivatives with respect to parameters and inputs on a device. The caller's arrays are in
//! the memory of the device. The kernel reads and writes these arrays directly, on a stream of the caller.

mod changes;
mod copies;
mod layout;
mod session;

pub use changes::{DeviceData, DeviceDependence};
pub use session::{DeviceNll, DeviceRows, RowStatus};

#[cfg(test)]
pub(super) use layout::structures;

#[cfg(all(test, feature = "cuda-on-host"))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
