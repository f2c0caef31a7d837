//! Normalising flows: densities learned by a network, as ONNX graphs with a manifest.
//!
//! A manifest names a graph of the log-density, and optionally a sampler and the derivatives by the context, with the
//! digests of their files; see `docs/flows.md`. ONNX Runtime evaluates them. Its library is looked for when the first
//! flow is loaded. Without the feature `neural` there are no flows, and [`load`] says so.

#[cfg(feature = "neural")]
mod derivatives;
mod error;
#[cfg(feature = "neural")]
mod manifest;
#[cfg(feature = "neural")]
mod pdf;
#[cfg(feature = "neural")]
mod quadrature;
#[cfg(feature = "neural")]
mod runtime;

use std::path::Path;
use std::sync::Arc;

pub use error::FlowError;
pub use ns_core::{Base, BoxIntegral, GradientMethod, LogProb, LogProbError};
#[cfg(feature = "neural")]
pub use pdf::FlowPdf;

/// Loads the flow that a manifest describes. Its context has the order of the manifest.
///
/// # Errors
/// [`FlowError::NotBuilt`] in a build without flows; else as `FlowPdf::load`.
pub fn load(manifest: &Path) -> Result<Arc<dyn LogProb>, FlowError> {
    #[cfg(feature = "neural")]
    return Ok(Arc::new(FlowPdf::load(manifest)?));
    #[cfg(not(feature = "neural"))]
    Err(FlowError::NotBuilt { manifest: manifest.to_owned() })
}
