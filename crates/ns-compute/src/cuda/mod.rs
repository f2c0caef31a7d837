//! NVIDIA GPUs.

mod address;
mod arena;
mod backend;
mod batch;
#[cfg(all(test, feature = "cuda-on-host"))]
#[allow(clippy::unwrap_used)]
mod beside;
mod check;
mod covariance;
mod dealing;
mod declare;
mod draws;
#[cfg(feature = "cuda")]
mod driver;
mod evaluate;
#[cfg(feature = "cuda")]
mod failure;
mod given;
#[cfg(test)]
pub(crate) mod header;
mod hessian;
#[cfg(feature = "cuda-on-host")]
mod host;
#[cfg(feature = "cuda")]
mod images;
mod kind;
#[cfg(feature = "cuda")]
mod lane;
mod layout;
#[cfg(feature = "cuda")]
mod loading;
mod part;
#[cfg(feature = "cuda")]
mod pool;
mod prepared;
mod session;
mod settle;
mod several;
mod shape;
#[cfg(feature = "cuda")]
mod staging;
mod toys;
mod upload;

#[cfg(feature = "cuda")]
pub use driver::is_warm;
#[cfg(feature = "cuda")]
pub use loading::{CudaDevice, found};
pub use session::CudaSession;
pub use several::SeveralCuda;
#[cfg(feature = "cuda")]
pub use several::open;

#[cfg(all(test, feature = "cuda", target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests;
