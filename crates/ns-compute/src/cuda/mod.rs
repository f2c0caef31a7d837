//! NVIDIA GPUs.

mod backend;
#[cfg(feature = "cuda")]
mod driver;
#[cfg(feature = "cuda")]
mod failure;
#[cfg(feature = "cuda")]
mod images;
#[cfg(feature = "cuda")]
mod loading;
#[cfg(feature = "cuda")]
mod pool;
#[cfg(feature = "cuda")]
mod staging;

#[cfg(feature = "cuda")]
pub use driver::is_warm;
#[cfg(feature = "cuda")]
pub use loading::{CudaDevice, found};
