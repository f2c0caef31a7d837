//! Flows on NVIDIA GPUs, by providers of ONNX Runtime: TensorRT, then CUDA, then the CPU.
//!
//! Each step down is a [`FlowWarning`] with its reason. A provider counts as used only if it could be registered and
//! the profile of a first evaluation names it; that ONNX Runtime lists a provider says nothing. The same evaluation is
//! compared with the CPU.

#[cfg(any(test, feature = "neural-cuda"))]
mod cache;
mod compare;
mod config;
#[cfg(feature = "neural-cuda")]
mod hardware;
mod place;
#[cfg(feature = "neural-cuda")]
mod profile;
#[cfg(feature = "neural-cuda")]
mod register;
#[cfg(all(test, feature = "neural-tensorrt", target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests;
mod warning;

pub use compare::{LARGEST_DIFFERENCE, spread};
pub use config::{FlowGpuConfig, FlowGpuEpKind, FlowPrecision};
pub use warning::FlowWarning;

pub(super) use compare::Compared;
pub(super) use place::{Placed, place};
