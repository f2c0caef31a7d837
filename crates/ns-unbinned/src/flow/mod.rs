//! Normalising flows: densities learned by a network, as ONNX graphs with a manifest.
//!
//! A manifest names a graph of the log-density, and optionally a sampler and the derivatives by the context, with the
//! digests of their files; see `docs/flows.md`. ONNX Runtime evaluates them. Its library is looked for when the first
//! flow is loaded. Without the feature `neural` there are no flows, and [`load`] says so.

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

/// Loads the flow without context that a manifest describes.
///
/// # Errors
/// [`FlowError::NotBuilt`] in a build without flows; else as `FlowPdf::from_manifest`.
pub fn load(manifest: &Path) -> Result<Arc<dyn LogProb>, FlowError> {
    #[cfg(feature = "neural")]
    return Ok(Arc::new(FlowPdf::from_manifest(manifest, &[])?));
    #[cfg(not(feature = "neural"))]
    Err(FlowError::NotBuilt { manifest: manifest.to_owned() })
}
