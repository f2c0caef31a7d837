//! The terms of the likelihood, a folder per kind: each formula stands here once, with its derivatives.
//!
//! Formulas are written over [`Vector`](crate::simd::Vector). A single fit puts effects side by side in a vector, lanes put fits
//! side by side; both call the same functions. The CUDA twin of a file lies beside it (`.cuh`).
//!
//! Nothing outside this folder asks which interpolation code a model has: a code answers questions instead.

pub(crate) mod histosys;
pub(crate) mod normsys;
