//! Normalising flows: densities learned by a network, as ONNX graphs with a manifest.
//!
//! A manifest names a graph of the log-density and, optionally, a graph of a sampler and a graph of the derivatives
//! with respect to the context, with the hashes of their files; see `docs/flows.md`. ONNX Runtime evaluates the
//! graphs. Its library is loaded together with the first flow. Without the feature `neural` there are no flows, and
//! [`load`] returns an error.

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

/// A flow, and warnings with their remedies: why the flow is not evaluated on the requested GPU, or not in the best
/// precision.
pub type Loaded = (Arc<dyn LogProb>, Vec<(String, String)>);

/// Loads the flow that a manifest describes. Its context has the order of the manifest. `gpu` is the index of an NVIDIA
/// GPU. If it is given and the build has a provider for GPUs, log-densities of a flow without context are evaluated
/// there. GPU and CPU are compared for events within `sides`, which has one pair of ends per feature.
///
/// # Errors
/// [`FlowError::NotBuilt`] in a build without flows; otherwise the errors of `FlowPdf::load`.
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
