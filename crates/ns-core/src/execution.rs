//! Settings of a run: device, threads, precision and memory limit. The settings are passed as a value; there are no
//! global settings.

use std::fmt;
use std::str::FromStr;

/// A device on which a session can run, or a way to choose one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Device {
    /// A device that the engine chooses. The result names the chosen device and the reason.
    #[default]
    Auto,
    /// The CPU, in double precision.
    Cpu,
    /// The NVIDIA GPU with this index, in double precision.
    Cuda(usize),
    /// All NVIDIA GPUs of the same model as the first one, in double precision. The fits of a batch are divided among
    /// them.
    CudaAll,
    /// An Apple GPU, in mixed precision ([`Precision::Mixed`]): the one with this index, or without an index the first that
    /// is a GPU.
    Metal(Option<usize>),
    /// A GPU of any maker through Vulkan, in mixed precision ([`Precision::Mixed`]): the one with this index, or without an
    /// index the first that is a GPU. Software that behaves like a GPU needs its index.
    Vulkan(Option<usize>),
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(i) => write!(f, "cuda:{i}"),
            Self::CudaAll => f.write_str("cuda:all"),
            Self::Metal(None) => f.write_str("metal"),
            Self::Metal(Some(i)) => write!(f, "metal:{i}"),
            Self::Vulkan(None) => f.write_str("vulkan"),
            Self::Vulkan(Some(i)) => write!(f, "vulkan:{i}"),
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
            "metal" => Ok(Self::Metal(None)),
            "vulkan" => Ok(Self::Vulkan(None)),
            other => {
                let (kind, index) = other.split_once(':').unwrap_or((other, ""));
                match (kind, index.parse()) {
                    ("cuda", Ok(index)) => Ok(Self::Cuda(index)),
                    ("metal", Ok(index)) => Ok(Self::Metal(Some(index))),
                    ("vulkan", Ok(index)) => Ok(Self::Vulkan(Some(index))),
                    _ => Err(format!(
                        "unknown device '{other}'; use auto, cpu, cuda, cuda:I, cuda:all, metal, metal:I, vulkan or \
                         vulkan:I"
                    )),
                }
            }
        }
    }
}

/// Floating-point precision of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// Double precision throughout. This is the default on CPU and CUDA.
    #[default]
    F64,
    /// The device computes in single precision. The CPU then completes the fit in double precision.
    Mixed,
    /// Single precision throughout, for exploration.
    F32,
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F64 => "f64",
            Self::Mixed => "mixed",
            Self::F32 => "f32",
        })
    }
}

/// The settings with which a session runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Execution {
    /// Device of the session.
    pub device: Device,
    /// Number of threads for independent fits; 0 means one per core. [`Execution::resolved_threads`] limits
    /// this number.
    pub threads: usize,
    /// Precision of the arithmetic. Opening a session fails on a device that computes in another precision.
    pub precision: Precision,
    /// Largest number of bytes that a session may take for the compiled model, the working memory of its threads and
    /// the batches in progress. The limit applies to the memory of the host and to that of each GPU. Batches are made
    /// small enough to stay below the limit, which changes no result. A batch that cannot be made small enough is
    /// refused (`SessionError::MemoryLimit`). Outcomes that the caller has received do not count. `None` means that
    /// there is no limit.
    pub memory_limit: Option<u64>,
}

/// Largest number of threads, unless the machine has more cores. Without this limit, starting several thousand
/// requested threads would take minutes. No result depends on the number of threads.
const MOST_THREADS: usize = 512;

impl Execution {
    /// Returns the number of threads to use. If the field `threads` is 0, there is one thread per core. Otherwise the
    /// number is `threads`, but at most the larger of 512 and the number of cores.
    #[must_use]
    pub fn resolved_threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        match self.threads {
            0 => cores(),
            n if n <= MOST_THREADS => n,
            n => n.min(MOST_THREADS.max(cores())),
        }
    }
}

/// Parses a number of bytes, which may have a unit that is a power of 1024. Examples are `2000000`, `500M`, `1.5G`,
/// `2GiB`.
///
/// # Errors
/// A description of the expected form, if the text has another form or the number is below 1 or too large.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let power = match text.trim_start_matches(number).to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 1,
        "M" | "MB" | "MIB" => 2,
        "G" | "GB" | "GIB" => 3,
        "T" | "TB" | "TIB" => 4,
        _ => return Err(BYTES.to_owned()),
    };
    let number: f64 = number.trim().parse().map_err(|_| BYTES.to_owned())?;
    let bytes = number * 1024_f64.powi(power);
    if bytes >= 1.0 && bytes < u64::MAX as f64 { Ok(bytes as u64) } else { Err(BYTES.to_owned()) }
}

/// Error message of [`parse_bytes`].
const BYTES: &str = "give a number of bytes, such as 2000000000, 500M or 1.5G (powers of 1024)";

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
    fn bytes_are_read_with_units_of_any_spelling() {
        let known: [(&str, u64); 9] = [
            ("1", 1),
            (" 1e6 ", 1_000_000),
            ("12B", 12),
            ("4k", 4096),
            ("8kb", 8192),
            ("500M", 500 << 20),
            ("1.5G", 3 << 29),
            ("2 GiB", 2 << 30),
            ("1T", 1 << 40),
        ];
        for (text, bytes) in known {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in ["", "0", "-1", "M", "1X", "1 G 2", "nan", "inf", "1e300", "0.5"] {
            assert!(parse_bytes(text).is_err_and(|why| why.contains("500M")), "{text}");
        }
    }

    #[test]
    fn a_precision_that_a_device_lacks_is_refused_with_the_one_that_it_has() {
        for asked in [Precision::F32, Precision::Mixed] {
            let execution = Execution { precision: asked, ..Execution::default() };
            let error = execution.check_precision(Device::Cuda(1), Precision::F64).unwrap_err();
            assert!(error.is_of_device());
            assert!(
                error
                    .to_string()
                    .contains(&format!("cuda:1 does not compute in precision {asked}: ask for f64"))
            );
        }
        assert_eq!(Execution::default().check_precision(Device::Cpu, Precision::F64), Ok(()));
    }

    #[test]
    fn devices_are_read_as_they_are_written() {
        let all = [
            Device::Auto,
            Device::Cpu,
            Device::Cuda(0),
            Device::Cuda(12),
            Device::CudaAll,
            Device::Metal(None),
            Device::Metal(Some(1)),
            Device::Vulkan(None),
            Device::Vulkan(Some(0)),
        ];
        for device in all {
            assert_eq!(device.to_string().parse(), Ok(device));
        }
        assert_eq!("cuda".parse(), Ok(Device::Cuda(0)));
        for text in ["", "gpu", "cuda:", "cuda:-1", "cuda:ALL", "cuda:all:0", "cudaall", "vulkan:", "metal:x"]
        {
            let refused = text.parse::<Device>();
            assert!(
                refused.is_err_and(|e| e.contains(&format!("'{text}'")) && e.contains("cuda:all")),
                "{text}"
            );
        }
    }
}
