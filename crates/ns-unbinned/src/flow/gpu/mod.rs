//! Evaluates flows on NVIDIA GPUs with providers of ONNX Runtime. TensorRT is tried first, then CUDA. If neither
//! can be used, the CPU evaluates the flow.
//!
//! A provider is used only if the profile of a first evaluation shows that it evaluated a part of the graph, and if
//! the results agree with those of the CPU. That ONNX Runtime lists a provider is not sufficient. If a provider is
//! not used, a [`FlowWarning`] gives the reason.

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
