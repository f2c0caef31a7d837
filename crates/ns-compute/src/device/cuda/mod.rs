//! The backend for NVIDIA GPUs: calls of the driver and their errors, device memory, streams, and the compiled
//! kernels.

mod driver;
mod failure;
mod functions;
mod guest;
mod images;
mod lane;
mod loading;
mod locked;
mod open;
mod pinned;
mod pool;
mod staging;

pub use driver::is_warm;
pub use loading::{CudaDevice, found, is_installed};
pub use open::{event_target, open, open_flow};

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests;

pub(crate) use open::backend;
