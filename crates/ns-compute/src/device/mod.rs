//! Compiled models on GPUs.
//!
//! Most modules do not depend on the vendor of a GPU. They upload inputs, form batches, collect outcomes and
//! distribute work over several devices. Code that depends on the vendor is behind the trait `Backend`, with one
//! folder per backend: `cuda` for NVIDIA's GPUs, and `host` for the kernels compiled for the CPU, which tests use.

mod answer;
mod arena;
mod arrays;
mod backend;
mod batch;
mod check;
mod chunks;
mod correlations;
mod covariance;
#[cfg(feature = "cuda")]
pub mod cuda;
mod declare;
mod differentiate;
mod draws;
mod effects;
mod evaluate;
pub(crate) mod event_columns;
mod events;
mod fit_kind;
mod flow;
mod functions;
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

pub use differentiate::{DeviceData, DeviceDependence, DeviceNll, DeviceRows, RowStatus};
pub use events::EventGpuSession;
pub use flow::{DeviceFlow, FlowData, FlowSums};
pub use multi_gpu::MultiGpuSession;
pub use session::GpuSession;
