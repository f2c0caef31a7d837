//! Warnings that a flow is not evaluated by the provider, or in the precision, that was tried first.

use std::path::PathBuf;

use thiserror::Error;

use super::config::{FlowGpuEpKind, FlowPrecision};

/// Reason why a flow is evaluated by another provider, or in another precision, than the one that was tried first.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum FlowWarning {
    /// This build of NextStat does not contain the provider.
    #[error("{provider} is not used, because this build does not have it. {}", .provider.next())]
    NotBuilt {
        /// The provider.
        provider: FlowGpuEpKind,
        /// Feature with which NextStat must be built to contain the provider.
        feature: &'static str,
    },
    /// ONNX Runtime does not have the provider, or cannot load its libraries.
    #[error("{provider} is not used, because ONNX Runtime cannot load it: {cause}. {}", .provider.next())]
    NotRegistered {
        /// The provider.
        provider: FlowGpuEpKind,
        /// Message of ONNX Runtime.
        cause: String,
    },
    /// The provider cannot open the graph, for example because there is no GPU.
    #[error("{provider} is not used, because it cannot open the graph: {cause}. {}", .provider.next())]
    NotOpened {
        /// The provider.
        provider: FlowGpuEpKind,
        /// Message of ONNX Runtime.
        cause: String,
    },
    /// The first evaluation failed.
    #[error("{provider} is not used, because its first evaluation failed: {cause}. {}", .provider.next())]
    Failed {
        /// The provider.
        provider: FlowGpuEpKind,
        /// Message of the error.
        cause: String,
    },
    /// The provider was registered, but did not evaluate any node of the graph.
    #[error("{provider} is not used, because it evaluated no node of the graph in the first evaluation ({ran} did). {}", .provider.next())]
    NotRun {
        /// The provider.
        provider: FlowGpuEpKind,
        /// Names of the providers that evaluated nodes.
        ran: String,
    },
    /// The faster precision was not accurate enough.
    #[error(
        "{provider} differs from the CPU by {difference:.1e} in precision {precision}, more than {bound:.0e}: this precision is switched off"
    )]
    PrecisionOff {
        /// The provider.
        provider: FlowGpuEpKind,
        /// The precision that was switched off.
        precision: FlowPrecision,
        /// Largest difference between the log-densities of GPU and CPU.
        difference: f64,
        /// Largest accepted difference.
        bound: f64,
    },
    /// The results were not accurate enough, even in the precision of the graph.
    #[error("{provider} is not used, because it differs from the CPU by {difference:.1e} in precision {precision}, more than {bound:.0e}. {}", .provider.next())]
    Different {
        /// The provider.
        provider: FlowGpuEpKind,
        /// Precision of the results.
        precision: FlowPrecision,
        /// Largest difference between the log-densities of GPU and CPU.
        difference: f64,
        /// Largest accepted difference.
        bound: f64,
    },
    /// Engines of TensorRT cannot be cached.
    #[error(
        "TensorRT builds its engine anew in each run, because the cache '{path}' cannot be used: {cause}"
    )]
    NoCache {
        /// Path of the folder for the cache.
        path: PathBuf,
        /// Reason why the folder cannot be used.
        cause: String,
    },
}

impl FlowWarning {
    /// Returns a sentence that tells the user what to do.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::NotBuilt { feature, .. } => format!("Build with the feature '{feature}' to use it."),
            Self::NotRegistered { provider, .. } => format!("{}.", provider.remedy()),
            Self::NotOpened { .. } => "See whether nvidia-smi lists the GPU.".to_owned(),
            Self::Failed { .. } => "See whether nvidia-smi lists the GPU, with free memory.".to_owned(),
            Self::NotRun { provider, .. } => {
                format!("Export the flow with 32-bit numbers and operations that {provider} has.")
            }
            Self::PrecisionOff { .. } => {
                "Results are in the precision of the graph; nothing needs to be done.".to_owned()
            }
            Self::Different { .. } => {
                "Update ONNX Runtime, or export the flow with 64-bit numbers.".to_owned()
            }
            Self::NoCache { .. } => {
                "Let XDG_CACHE_HOME (or, in Rust, engine_cache_path) name a folder that can be written."
                    .to_owned()
            }
        }
    }
}
