//! The terms of the likelihood, a folder per kind: each formula stands here once, with its derivatives.
//!
//! Formulas are written over [`Vector`](crate::simd::Vector). A single fit puts effects side by side in a vector, lanes put fits
//! side by side; both call the same functions. The CUDA twin of a file lies beside it (`.cuh`).
//!
//! Every interpolation code has its value, slope and second derivative in every engine. Nothing outside this folder asks which
//! code a model has: a code answers questions instead.
//!
//! | | single fits and lanes | kernels | does not compile without |
//! |---|---|---|---|
//! | histosys | [`histosys::curved`]: `f`, `f'`, `f''` | `histosys.cuh` | an arm of both matches, and all three numbers |
//! | normsys | [`normsys::normsys`]: polynomial and what is [beyond](normsys::Beyond), each with its derivatives | `normsys.cuh` | an arm of both matches, and every field of [`normsys::Normsys`] |
//!
//! Factors have no codes. A derivative of theirs is the product without one or two of them ([`scale::product`]).

pub(crate) mod gaussian;
pub(crate) mod histosys;
pub(crate) mod normsys;
pub(crate) mod per_bin;
pub(crate) mod poisson;
pub(crate) mod scale;
