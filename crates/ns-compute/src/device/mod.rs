//! GPUs. What all of them share is here; `cuda` holds what is NVIDIA's, and `host` runs the kernels on the CPU, for tests.

mod address;
mod arena;
mod backend;
mod batch;
#[cfg(all(test, feature = "cuda-on-host"))]
#[allow(clippy::unwrap_used)]
mod beside;
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
mod host;
mod kind;
mod layout;
mod part;
mod prepared;
mod session;
mod settle;
mod several;
mod shape;
mod toys;
mod upload;

pub use session::CudaSession;
pub use several::SeveralCuda;
#[cfg(feature = "cuda")]
pub use several::open;
