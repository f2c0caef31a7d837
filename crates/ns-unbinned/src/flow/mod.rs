//! Normalising flows: densities that a neural network has learned. A flow consists of ONNX graphs and a manifest.
//!
//! A manifest names the graph of the log-density. Optionally, it names the graph of a sampler, and the graph of the
//! derivatives with respect to the context. It also contains the hashes of the graph files; see `docs/flows.md`. ONNX
//! Runtime evaluates the graphs. Its library is loaded together with the first flow. In a build without the feature
//! `neural`, [`load`] returns an error.

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
#[cfg(feature = "neural")]
mod support;

use std::path::Path;
use std::sync::Arc;

pub use error::FlowError;
#[cfg(feature = "neural")]
pub use gpu::{FlowGpuConfig, FlowGpuEpKind, FlowPrecision, FlowWarning, LARGEST_DIFFERENCE, spread};
pub use ns_core::{Base, BoxIntegral, GradientMethod, LogProb, LogProbError, NetworkEvaluation};
#[cfg(feature = "neural")]
pub use pdf::FlowPdf;

/// A flow, and pairs of a warning and its remedy. The warnings tell why the flow is not evaluated on the requested
/// GPU, or not in the faster precision.
pub type Loaded = (Arc<dyn LogProb>, Vec<(String, String)>);

/// Loads the flow that a manifest describes. The context variables have the order of the manifest. `gpu` is the index
/// of an NVIDIA GPU. This GPU evaluates the log-densities of a flow without context, if the build has a provider for
/// GPUs. `sides` has the lower and upper end of each feature. GPU and CPU are compared for events within these ends.
///
/// # Errors
/// [`FlowError::NotBuilt`] in a build without the feature `neural`; otherwise the errors of `FlowPdf::load`.
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
