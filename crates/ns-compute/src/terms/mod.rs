//! Formulas of the effects of modifiers and of the terms of the likelihood, with their derivatives. There is one folder
//! per type. Each formula is written only once, here.
//!
//! Formulas use the type [`Vector`](crate::simd::Vector). The elements of a vector are several effects in a single fit,
//! or, in SIMD lanes, the same effect in several fits. Both use the same functions. The CUDA version of a file (`.cuh`)
//! is beside it.
//!
//! Single fits, SIMD lanes and kernels all have the value, the slope and the second derivative of every interpolation
//! code. Code outside this folder does not depend on the interpolation code of a model. It calls the functions here.
//!
//! * histosys: [`histosys::curved`] and `histosys.cuh` compute `f`, `f'` and `f''`. An interpolation code compiles only
//!   if both files have a branch for it with all three numbers.
//! * normsys: [`normsys::normsys`] and `normsys.cuh` give the polynomial and the function [beyond](normsys::Beyond) it,
//!   each with its derivatives. An interpolation code compiles only if both files have a branch for it, and if every
//!   field of [`normsys::Normsys`] is set.
//!
//! Factors have no interpolation codes. A first or second derivative of a product of factors is the product without one
//! or two of these factors ([`scale::product`]).

pub(crate) mod gaussian;
pub(crate) mod histosys;
pub(crate) mod normsys;
pub(crate) mod per_bin;
pub(crate) mod poisson;
pub(crate) mod scale;
