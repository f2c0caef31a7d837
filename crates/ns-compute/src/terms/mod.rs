//! Formulas of the terms of the likelihood with their derivatives, one folder per kind. Each formula is
//! written here only once.
//!
//! Formulas use the type [`Vector`](crate::simd::Vector). The elements of a vector are several effects of a
//! single fit, or, in SIMD lanes, the same effect of several fits; both use the same functions. The CUDA
//! version of a file is beside it (`.cuh`).
//!
//! Every engine (single fits, SIMD lanes, kernels) has value, slope and second derivative of every
//! interpolation code. Code outside this folder does not depend on which code a model has; it calls the
//! functions here.
//!
//! * histosys: [`histosys::curved`] and `histosys.cuh` give `f`, `f'` and `f''`. A code does not compile without
//!   a branch in both files, and all three numbers.
//! * normsys: [`normsys::normsys`] and `normsys.cuh` give the polynomial and the function
//!   [beyond](normsys::Beyond) it, each with its derivatives. A code does not compile without a branch in both
//!   files, and every field of [`normsys::Normsys`].
//!
//! Factors have no interpolation codes. A derivative of a product of factors is the product without one or
//! two of them ([`scale::product`]).

pub(crate) mod gaussian;
pub(crate) mod histosys;
pub(crate) mod normsys;
pub(crate) mod per_bin;
pub(crate) mod poisson;
pub(crate) mod scale;
