//! The devices and providers that a self-test can test.

use std::fmt;
use std::str::FromStr;

use ns_core::Device;

/// The device or provider that the self-test tests in addition to the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Target {
    /// The first GPU, if there is one.
    #[default]
    Auto,
    /// Only the CPU.
    Cpu,
    /// The given GPU. The CUDA execution provider evaluates flows on this GPU.
    Device(Device),
    /// The first GPU. The TensorRT execution provider evaluates flows on this GPU.
    TensorRt,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Device(device) => device.fmt(f),
            Self::TensorRt => f.write_str("tensorrt"),
        }
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("tensorrt", _) => Ok(Self::TensorRt),
            (_, Ok(Device::Auto)) => Ok(Self::Auto),
            (_, Ok(Device::Cpu)) => Ok(Self::Cpu),
            (_, Ok(device)) => Ok(Self::Device(device)),
            (_, Err(_)) => Err(format!(
                "unknown device '{text}'; use auto, cpu, cuda, cuda:I, cuda:all, tensorrt, metal, metal:I, vulkan or \
                 vulkan:I"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_as_they_are_written() {
        for text in ["auto", "cpu", "cuda:0", "cuda:3", "cuda:all", "tensorrt", "metal"] {
            assert_eq!(text.parse().map(|target: Target| target.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("cuda".parse(), Ok(Target::Device(Device::Cuda(0))));
        assert!("gpu".parse::<Target>().is_err_and(|why| why.contains("'gpu'") && why.contains("tensorrt")));
    }
}
