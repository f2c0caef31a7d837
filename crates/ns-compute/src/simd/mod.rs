//! Vector arithmetic that is compiled once per instruction set. The instruction set is chosen at run time.
//!
//! Every hot loop is in an `#[inline(always)]` generic function. [`isa_fn!`] compiles one copy of this function per
//! instruction set, and defines another function that chooses the copy. Results of different instruction sets may
//! differ in the last bits because of fused multiply-add. Results of one instruction set are always identical.

mod exp;
mod lanes;
mod level;
mod ln;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use exp::exp;
#[cfg(any(target_arch = "aarch64", test))]
pub(crate) use lanes::Fused;
pub(crate) use lanes::{MulAdd, Separate, Vector};
pub use level::Level;
pub(crate) use ln::ln;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

/// Defines a function `$name(level, args...)`. It calls `$body::<M>(args...)`, compiled for the instruction set
/// `level`. The type `M` stands for this instruction set.
macro_rules! isa_fn {
    ($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? = $body:ident) => {
        $(#[$meta])*
        $vis fn $name(level: $crate::simd::Level, $($arg: $ty),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,bmi1,bmi2")]
                fn avx512($($arg: $ty),*) $(-> $ret)? {
                    $body::<$crate::simd::Avx512>($($arg),*)
                }
                #[target_feature(enable = "avx2,fma,bmi1,bmi2")]
                fn avx2($($arg: $ty),*) $(-> $ret)? {
                    $body::<$crate::simd::Avx2>($($arg),*)
                }
                match level {
                    // SAFETY: `Level` values above `Baseline` exist only where the CPU reported
                    // the features (see `Level::detect`).
                    $crate::simd::Level::Avx512 => unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    $crate::simd::Level::Avx2 => unsafe { avx2($($arg),*) },
                    $crate::simd::Level::Baseline => $body::<$crate::simd::Separate>($($arg),*),
                }
            }
            #[cfg(target_arch = "aarch64")]
            {
                // On this architecture, NEON with fused multiply-add is always available.
                let _ = level;
                $body::<$crate::simd::Fused>($($arg),*)
            }
            #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
            {
                let _ = level;
                $body::<$crate::simd::Separate>($($arg),*)
            }
        }
    };
}
pub(crate) use isa_fn;
