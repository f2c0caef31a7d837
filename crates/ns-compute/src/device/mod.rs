//! Compiled models on GPUs.
//!
//! Everything here is for GPUs of all makers: what goes up, in which batches, what comes back, how several devices share work. A
//! maker's own part is a `Backend`, in a folder of its own: `cuda` for NVIDIA, and `host` for the kernels compiled
//! for the CPU, which tests use.

mod arena;
mod backend;
mod batch;
mod check;
mod chunks;
mod covariance;
#[cfg(feature = "cuda")]
pub mod cuda;
mod declare;
mod draws;
mod evaluate;
mod fit_kind;
mod given_data;
#[cfg(test)]
pub(crate) mod header;
mod hessian;
#[cfg(feature = "cuda-on-host")]
pub mod host;
mod input;
mod layout;
mod limit;
mod multi_gpu;
mod offset;
mod partition;
mod prepared;
mod session;
mod settle;
mod shape;
#[cfg(all(test, feature = "cuda-on-host"))]
#[allow(clippy::unwrap_used)]
mod test_support;
mod toys;
mod upload;

pub use multi_gpu::MultiGpuSession;
pub use session::GpuSession;
