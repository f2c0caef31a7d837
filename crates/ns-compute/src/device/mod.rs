//! Compiled models on GPUs.
//!
//! Everything here is for GPUs of all makers: what goes up, in which batches, what comes back, how several devices share work. A
//! maker's own part is a [`Backend`](backend::Backend), in a folder of its own: `cuda` for NVIDIA, and `host` for the kernels compiled
//! for the CPU, which tests use.

mod arena;
mod backend;
mod batch;
mod check;
mod covariance;
#[cfg(feature = "cuda")]
pub mod cuda;
mod dealing;
mod declare;
mod draws;
mod evaluate;
mod given;
#[cfg(test)]
pub(crate) mod header;
mod hessian;
#[cfg(feature = "cuda-on-host")]
pub mod host;
mod input;
mod kind;
mod layout;
mod limit;
mod offset;
mod part;
mod prepared;
mod session;
mod settle;
mod several;
mod shape;
#[cfg(all(test, feature = "cuda-on-host"))]
#[allow(clippy::unwrap_used)]
mod testing;
mod toys;
mod upload;

pub use session::GpuSession;
pub use several::MultiGpuSession;
