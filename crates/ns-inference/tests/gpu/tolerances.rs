//! Tolerances of the parity contract, which says how far results of a CUDA device may differ from those of the CPU.
//! The order is that of the rows of the contract. The Python tests have the same numbers in
//! `tests/python/_tolerances.py`. The test `tests/tolerances.rs` compares the two files.
#![allow(dead_code, unreachable_pub)]

/// Relative tolerance of `-ln L`, in units of the rounding error of the sum of the absolute values of its terms.
pub const CUDA_NLL_ROUNDINGS: f64 = 8.0;
/// Absolute part of the tolerance of `-ln L` at a given point.
pub const CUDA_NLL_FLOOR: f64 = 1e-12;

/// Tolerance of a gradient element, relative to the sum of the absolute values of its terms.
pub const CUDA_GRADIENT: f64 = 1e-12;

/// Tolerance of a Hessian element `H_ij`, relative to `sqrt(S_i S_j)`. `S_i` is the sum of the absolute values of the
/// terms of `H_ii`.
pub const CUDA_HESSIAN: f64 = 1e-12;

/// Tolerance of the best-fit value of a parameter that the data determine. The unit is the larger of the parameter's
/// uncertainty and 1.
pub const CUDA_BEST_FIT: f64 = 1e-6;

/// Absolute part of the tolerance of `-ln L` at the minimum.
pub const CUDA_MINIMUM_FLOOR: f64 = 1e-10;

/// Tolerance of the covariance element `C_ij`, relative to `sqrt(C_ii C_jj)`.
pub const CUDA_COVARIANCE: f64 = 1e-6;

/// Absolute tolerance of the test statistic of a toy, with smooth interpolation.
pub const CUDA_STATISTIC: f64 = 1e-8;
/// Fraction of toys whose test statistics must agree on CPU and GPU, with smooth interpolation.
pub const CUDA_STATISTIC_FRACTION: f64 = 0.9999;

/// Fraction of toys whose test statistics must agree on CPU and GPU, for strongly nonlinear models. In such models
/// two searches may end in different minima.
pub const CUDA_STATISTIC_NONLINEAR_FRACTION: f64 = 0.99;

/// Absolute tolerance of the test statistic of a toy, with piecewise interpolation. With this interpolation two
/// searches may end in different minima.
pub const CUDA_STATISTIC_PIECEWISE: f64 = 1e-6;
/// Fraction of toys whose test statistics must agree on CPU and GPU, with piecewise interpolation.
pub const CUDA_STATISTIC_PIECEWISE_FRACTION: f64 = 0.995;

/// Absolute tolerance of the impact of a parameter in a ranking, in the unit of the parameter whose shift is the
/// impact.
pub const CUDA_IMPACT: f64 = 1e-6;
/// Number of parameters at the top of a ranking that must be the same, in the same order.
pub const CUDA_TOP: f64 = 10.0;

/// All tolerances of the parity contract with their names.
pub const ALL: [(&str, f64); 14] = [
    ("CUDA_NLL_ROUNDINGS", CUDA_NLL_ROUNDINGS),
    ("CUDA_NLL_FLOOR", CUDA_NLL_FLOOR),
    ("CUDA_GRADIENT", CUDA_GRADIENT),
    ("CUDA_HESSIAN", CUDA_HESSIAN),
    ("CUDA_BEST_FIT", CUDA_BEST_FIT),
    ("CUDA_MINIMUM_FLOOR", CUDA_MINIMUM_FLOOR),
    ("CUDA_COVARIANCE", CUDA_COVARIANCE),
    ("CUDA_STATISTIC", CUDA_STATISTIC),
    ("CUDA_STATISTIC_FRACTION", CUDA_STATISTIC_FRACTION),
    ("CUDA_STATISTIC_NONLINEAR_FRACTION", CUDA_STATISTIC_NONLINEAR_FRACTION),
    ("CUDA_STATISTIC_PIECEWISE", CUDA_STATISTIC_PIECEWISE),
    ("CUDA_STATISTIC_PIECEWISE_FRACTION", CUDA_STATISTIC_PIECEWISE_FRACTION),
    ("CUDA_IMPACT", CUDA_IMPACT),
    ("CUDA_TOP", CUDA_TOP),
];
