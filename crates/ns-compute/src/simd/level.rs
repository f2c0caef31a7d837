//! The instruction set that hot loops use. It is detected once, when a session is opened.

/// An instruction set of this CPU. Only [`Level::detect`] and [`Level::available`] create values other than
/// `Baseline`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Level {
    /// The instruction set that every CPU of this architecture has (SSE2 on x86-64, NEON on ARM).
    Baseline,
    /// The AVX2 instruction set: 256-bit vectors with fused multiply-add.
    Avx2,
    /// The AVX-512 instruction set: 512-bit vectors with fused multiply-add.
    Avx512,
}

impl Level {
    /// Returns the best instruction set that this CPU has.
    #[must_use]
    pub fn detect() -> Self {
        *Self::available().last().unwrap_or(&Self::Baseline)
    }

    /// Returns all instruction sets that this CPU has, the slowest first.
    #[must_use]
    pub fn available() -> Vec<Self> {
        let mut levels = vec![Self::Baseline];
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2");
            if avx2 {
                levels.push(Self::Avx2);
            }
            if avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw")
            {
                levels.push(Self::Avx512);
            }
        }
        levels
    }

    /// Returns the name of the instruction set, for messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline if cfg!(target_arch = "x86_64") => "SSE2",
            Self::Baseline if cfg!(target_arch = "aarch64") => "NEON",
            Self::Baseline => "scalar",
            Self::Avx2 => "AVX2",
            Self::Avx512 => "AVX-512",
        }
    }
}
