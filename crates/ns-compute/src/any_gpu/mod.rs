//! GPUs of all makers, through Vulkan and Metal.
//!
//! Such a GPU computes in single precision. It makes descents: one workgroup per descent, with the steps of the lanes.
//! Lanes then take each end to the certificate in double precision, in two or three steps, and the search for further
//! minima decides as everywhere. So the results are those of the CPU.
//!
//! The formulas of the kernels are written from the Rust source (`formulas`); the kernels around them are in
//! `kernels/wgsl`. The kernel of a kind of fit has the sizes of the model as constants (`program`), and is compiled when
//! the first toys of this kind are fitted.

mod adapter;
mod arrays;
mod descents;
mod formulas;
mod kind;
mod launch;
mod program;
mod session;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
#[cfg(test)]
mod trace;
mod upload;

pub use adapter::{Found, find};
pub use session::{AnyGpuSession, Counts};
