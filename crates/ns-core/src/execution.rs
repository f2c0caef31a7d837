//! Where and how work runs: a value that is passed down, never a global mode.

use std::fmt;
use std::str::FromStr;

/// A place where a session can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Device {
    /// Chosen by the engine; the result says which and why.
    #[default]
    Auto,
    /// The CPU, in f64.
    Cpu,
    /// An NVIDIA GPU by index, in f64.
    Cuda(usize),
    /// All NVIDIA GPUs of the same model as the first, in f64; they share the work of a batch.
    CudaAll,
    /// An Apple GPU, in f32 with an f64 polish.
    Metal,
    /// Any Vulkan GPU, in f32 with an f64 polish.
    Vulkan,
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(i) => write!(f, "cuda:{i}"),
            Self::CudaAll => f.write_str("cuda:all"),
            Self::Metal => f.write_str("metal"),
            Self::Vulkan => f.write_str("vulkan"),
        }
    }
}

impl FromStr for Device {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            "cuda:all" => Ok(Self::CudaAll),
            "metal" => Ok(Self::Metal),
            "vulkan" => Ok(Self::Vulkan),
            other => {
                other.strip_prefix("cuda:").and_then(|index| index.parse().ok()).map(Self::Cuda).ok_or_else(
                    || {
                        format!(
                            "unknown device '{other}'; use auto, cpu, cuda, cuda:I, cuda:all, metal or vulkan"
                        )
                    },
                )
            }
        }
    }
}

/// Arithmetic of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// Double precision throughout: the default on CPU and CUDA.
    #[default]
    F64,
    /// Single precision on the device, polished in double precision on the CPU.
    Mixed,
    /// Single precision without polish, for exploration.
    F32,
}

/// How a session runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Execution {
    /// Which device.
    pub device: Device,
    /// Threads for independent fits; 0 means all cores. See [`Execution::resolved_threads`] for the most.
    pub threads: usize,
    /// Arithmetic.
    pub precision: Precision,
    /// Upper limit of working memory in bytes; `None` for no limit.
    pub memory_limit: Option<u64>,
}

/// The most threads on a machine with fewer cores. Starting ten times as many takes minutes. No result depends on the
/// number of threads.
const MOST_THREADS: usize = 512;

impl Execution {
    /// The number of threads to use, with 0 resolved to the machine's cores, and at most 512 or the
    /// machine's cores, whichever is more.
    #[must_use]
    pub fn resolved_threads(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        match self.threads {
            0 => cores,
            n => n.min(MOST_THREADS.max(cores)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_threads_are_not_started() {
        let threads = |threads| Execution { threads, ..Execution::default() }.resolved_threads();
        assert_eq!((threads(1), threads(512)), (1, 512));
        assert!(threads(0) >= 1);
        assert_eq!(threads(1_000_000), threads(usize::MAX));
        assert!(threads(usize::MAX) <= MOST_THREADS.max(threads(0)));
    }

    #[test]
    fn devices_are_read_as_they_are_written() {
        let all = [
            Device::Auto,
            Device::Cpu,
            Device::Cuda(0),
            Device::Cuda(12),
            Device::CudaAll,
            Device::Metal,
            Device::Vulkan,
        ];
        for device in all {
            assert_eq!(device.to_string().parse(), Ok(device));
        }
        assert_eq!("cuda".parse(), Ok(Device::Cuda(0)));
        for text in ["", "gpu", "cuda:", "cuda:-1", "cuda:ALL", "cuda:all:0", "cudaall"] {
            let refused = text.parse::<Device>();
            assert!(
                refused.is_err_and(|e| e.contains(&format!("'{text}'")) && e.contains("cuda:all")),
                "{text}"
            );
        }
    }
}
