//! Normalising flows: densities learned by a network, as ONNX graphs with a manifest.
//!
//! A manifest names a graph of the log-density, and optionally a sampler and the derivatives with respect to the
//! context, with the digests of their files; see `docs/flows.md`. ONNX Runtime evaluates them. Its library is looked
//! for when the first flow is loaded. Without the feature `neural` there are no flows, and [`load`] says so.

#[cfg(feature = "neural")]
mod derivatives;
mod error;
#[cfg(feature = "neural")]
mod gpu;
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
#[cfg(feature = "neural")]
pub use gpu::{FlowGpuConfig, FlowGpuEpKind, FlowPrecision, FlowWarning, LARGEST_DIFFERENCE, spread};
pub use ns_core::{Base, BoxIntegral, GradientMethod, LogProb, LogProbError, NetworkEvaluation};
#[cfg(feature = "neural")]
pub use pdf::FlowPdf;

/// A flow, and warnings with what to do: why it is not evaluated on the GPU that was asked for, or not in the precision.
pub type Loaded = (Arc<dyn LogProb>, Vec<(String, String)>);

/// Loads the flow that a manifest describes. Its context has the order of the manifest. With the index of an NVIDIA GPU,
/// log-densities of a flow without context are evaluated there, if the build has a provider for it; GPU and CPU are
/// compared within `sides`, a side per feature.
///
/// # Errors
/// [`FlowError::NotBuilt`] in a build without flows; else as `FlowPdf::load`.
pub fn load(manifest: &Path, gpu: Option<usize>, sides: &[(f64, f64)]) -> Result<Loaded, FlowError> {
    #[cfg(feature = "neural")]
    {
        let flow = FlowPdf::load(manifest)?;
        let flow = match (gpu, FlowGpuEpKind::best()) {
            (Some(device), Some(first))
                if flow.context().is_empty() && sides.len() == flow.features().len() =>
            {
                flow.on_gpu(device, first, &FlowGpuConfig::default(), (sides, &[]))?
            }
            _ => flow,
        };
        let warnings =
            flow.warnings().iter().map(|warning| (warning.to_string(), warning.remedy())).collect();
        Ok((Arc::new(flow), warnings))
    }
    #[cfg(not(feature = "neural"))]
    {
        let _ = (gpu, sides);
        Err(FlowError::NotBuilt { manifest: manifest.to_owned() })
    }
}
