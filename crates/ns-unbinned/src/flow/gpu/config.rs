//! Options for the evaluation of a flow on a GPU.

use std::fmt;
use std::path::PathBuf;

use crate::flow::FlowError;

/// Options for the evaluation of the log-densities of a flow on a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowGpuConfig {
    /// Whether a faster precision may be tried: FP16 with TensorRT, or TF32 with CUDA. The faster precision is not
    /// used if its results differ from those of the CPU by more than [`super::LARGEST_DIFFERENCE`].
    pub fp16: bool,
    /// Folder in which TensorRT stores the engines (compiled graphs) that it has built; `None` for no cache. Each
    /// combination of flow, TensorRT version and GPU architecture has its own subfolder.
    pub engine_cache_path: Option<PathBuf>,
    /// Smallest number of events in one evaluation on the GPU. If there are fewer events, the CPU evaluates them.
    pub profile_min_batch: usize,
    /// Number of events for which TensorRT chooses its kernels.
    pub profile_opt_batch: usize,
    /// Largest number of events in one evaluation on the GPU. If there are more events, they are evaluated in several
    /// steps.
    pub profile_max_batch: usize,
}

impl Default for FlowGpuConfig {
    /// Returns the default options. FP16 is allowed. Batches have 1 to 65 536 events, and kernels are chosen for 1
    /// 024 events. The cache is in `~/.cache/nextstat/tensorrt`, or in the subfolder `nextstat/tensorrt` of
    /// `XDG_CACHE_HOME`. Without a home folder there is no cache.
    fn default() -> Self {
        let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let caches = of("XDG_CACHE_HOME").or_else(|| of("HOME").map(|home| home.join(".cache")));
        Self {
            fp16: true,
            engine_cache_path: caches.map(|folder| folder.join("nextstat").join("tensorrt")),
            profile_min_batch: 1,
            profile_opt_batch: 1024,
            profile_max_batch: 65_536,
        }
    }
}

impl FlowGpuConfig {
    /// Returns an error unless the numbers of events are in ascending order and allowed.
    ///
    /// # Errors
    /// [`FlowError::Batches`] with the three numbers.
    pub(in crate::flow) fn check(&self) -> Result<(), FlowError> {
        let (least, best, most) = (self.profile_min_batch, self.profile_opt_batch, self.profile_max_batch);
        // ONNX Runtime reads these numbers as 32-bit integers.
        if 1 <= least && least <= best && best <= most && i32::try_from(most).is_ok() {
            return Ok(());
        }
        Err(FlowError::Batches { least, best, most })
    }
}

/// A provider of ONNX Runtime that evaluates graphs on an NVIDIA GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowGpuEpKind {
    /// TensorRT. Nodes of a graph that TensorRT does not support are evaluated by CUDA.
    TensorRtEp,
    /// CUDA.
    CudaEp,
}

impl FlowGpuEpKind {
    /// Returns the name of the provider in results: `tensorrt` or `cuda`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TensorRtEp => "tensorrt",
            Self::CudaEp => "cuda",
        }
    }

    /// Returns a sentence without full stop that says what is tried if this provider cannot be used.
    pub(super) fn next(self) -> &'static str {
        match self {
            Self::TensorRtEp => "CUDA is tried next",
            Self::CudaEp => "The CPU evaluates the flow",
        }
    }

    /// Returns advice on what to install so that the provider can be used.
    #[must_use]
    pub fn remedy(self) -> &'static str {
        match self {
            Self::TensorRtEp => {
                "Install TensorRT in the version that this ONNX Runtime was built for, where the loader finds it"
            }
            Self::CudaEp => {
                "Install onnxruntime-gpu with the CUDA libraries (`pip install onnxruntime-gpu[cuda,cudnn]`), and let \
                 ORT_DYLIB_PATH name its library"
            }
        }
    }

    /// Returns the preferred provider of this build. Returns `None` if the build has no providers for GPUs.
    #[must_use]
    pub fn best() -> Option<Self> {
        if cfg!(feature = "neural-tensorrt") {
            Some(Self::TensorRtEp)
        } else if cfg!(feature = "neural-cuda") {
            Some(Self::CudaEp)
        } else {
            None
        }
    }
}

impl fmt::Display for FlowGpuEpKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TensorRtEp => "TensorRT",
            Self::CudaEp => "CUDA",
        })
    }
}

/// The precision in which a graph is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowPrecision {
    /// 64-bit floating-point numbers.
    F64,
    /// 32-bit floating-point numbers.
    F32,
    /// 32-bit floating-point numbers. Products of matrices use only 19 bits of each number.
    Tf32,
    /// 16-bit floating-point numbers in the operations for which TensorRT chooses them.
    Fp16,
}

impl fmt::Display for FlowPrecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FlowPrecision {
    /// Returns the name of the precision in results: `f64`, `f32`, `tf32` or `fp16`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::F64 => "f64",
            Self::F32 => "f32",
            Self::Tf32 => "tf32",
            Self::Fp16 => "fp16",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_the_documented_one() {
        let config = FlowGpuConfig::default();
        assert!(config.fp16 && config.check().is_ok());
        let batches = (config.profile_min_batch, config.profile_opt_batch, config.profile_max_batch);
        assert_eq!(batches, (1, 1024, 65_536));
        if let Some(path) = &config.engine_cache_path {
            assert!(path.ends_with("nextstat/tensorrt"), "{path:?}");
        }
    }

    #[test]
    fn batches_that_are_out_of_order_are_refused() {
        let of = |least, best, most| FlowGpuConfig {
            profile_min_batch: least,
            profile_opt_batch: best,
            profile_max_batch: most,
            ..FlowGpuConfig::default()
        };
        assert!(of(5, 5, 5).check().is_ok());
        for wrong in [of(0, 5, 5), of(6, 5, 7), of(1, 8, 7), of(1, 1, 1 << 31)] {
            let message = wrong.check().map_err(|error| error.to_string()).unwrap_err();
            assert!(message.contains("1 <= profile_min_batch <= profile_opt_batch"), "{message}");
        }
    }
}
