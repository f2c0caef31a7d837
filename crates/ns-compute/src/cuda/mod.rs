//! NVIDIA GPUs.

mod address;
mod arena;
mod backend;
mod batch;
mod check;
mod chunks;
mod covariance;
mod declare;
mod draws;
#[cfg(feature = "cuda")]
mod driver;
mod evaluate;
#[cfg(feature = "cuda")]
mod failure;
mod fit_kind;
mod given_data;
#[cfg(test)]
pub(crate) mod header;
mod hessian;
#[cfg(feature = "cuda-on-host")]
mod host;
#[cfg(feature = "cuda")]
mod images;
#[cfg(feature = "cuda")]
mod lane;
mod layout;
#[cfg(feature = "cuda")]
mod loading;
mod multi_gpu;
mod partition;
#[cfg(feature = "cuda")]
mod pool;
mod prepared;
mod session;
mod settle;
mod shape;
#[cfg(feature = "cuda")]
mod staging;
#[cfg(all(test, feature = "cuda-on-host"))]
#[allow(clippy::unwrap_used)]
mod test_support;
mod toys;
mod upload;

#[cfg(feature = "cuda")]
pub use driver::is_warm;
#[cfg(feature = "cuda")]
pub use loading::{CudaDevice, found};
pub use multi_gpu::MultiCudaSession;
#[cfg(feature = "cuda")]
pub use multi_gpu::open;
pub use session::CudaSession;

#[cfg(all(test, feature = "cuda", target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests;
