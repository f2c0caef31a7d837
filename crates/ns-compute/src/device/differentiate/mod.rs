//! `-ln L` with its derivatives by parameters and inputs on a device, for callers who have their arrays there: the kernel
//! reads and writes memory of the caller, on a stream of the caller, and nothing is copied.

mod copies;
mod layout;
mod session;

pub use session::{DeviceNll, DeviceRows, RowStatus};

#[cfg(test)]
pub(super) use layout::structures;

#[cfg(all(test, feature = "cuda-on-host"))]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
