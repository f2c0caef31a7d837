//! Formulas of the terms of the likelihood with their derivatives, one folder per kind. Each formula is
//! written here only once.
//!
//! Formulas use the type [`Vector`](crate::simd::Vector). The elements of a vector are several effects of a
//! single fit, or, in SIMD lanes, the same effect of several fits; both use the same functions. The CUDA
//! version of a file is beside it (`.cuh`).
//!
//! Every interpolation code has its value, slope and second derivative in every engine. Code outside this
//! folder does not depend on which code a model has; it calls the functions here.
//!
//! | | single fits and lanes | kernels | does not compile without |
//! |---|---|---|---|
//! | histosys | [`histosys::curved`]: `f`, `f'`, `f''` | `histosys.cuh` | an arm of both matches, and all three numbers |
//! | normsys | [`normsys::normsys`]: polynomial and what is [beyond](normsys::Beyond), each with its derivatives | `normsys.cuh` | an arm of both matches, and every field of [`normsys::Normsys`] |
//!
//! Factors have no interpolation codes. A derivative of a product of factors is the product without one or
//! two of them ([`scale::product`]).

pub(crate) mod gaussian;
pub(crate) mod histosys;
pub(crate) mod normsys;
pub(crate) mod per_bin;
pub(crate) mod poisson;
pub(crate) mod scale;
