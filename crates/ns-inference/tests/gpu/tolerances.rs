//! The parity contract between the CPU and a CUDA device as numbers, row by row. The Python tests have the
//! same numbers in `tests/python/_tolerances.py`; `tests/tolerances.rs` compares the two files.
#![allow(dead_code, unreachable_pub)]

/// Tolerance of `-ln L`, in units of the last place of the sum of its absolute terms.
pub const CUDA_NLL_ROUNDINGS: f64 = 8.0;
/// Absolute part of the tolerance of `-ln L` at the same point.
pub const CUDA_NLL_FLOOR: f64 = 1e-12;

/// Tolerance of a gradient element, relative to the sum of the absolute terms of which it consists.
pub const CUDA_GRADIENT: f64 = 1e-12;

/// Tolerance of a Hessian element `H_ij`, relative to `sqrt(S_i S_j)`, where `S_i` is the sum of the absolute
/// terms of `H_ii`.
pub const CUDA_HESSIAN: f64 = 1e-12;

/// Tolerance of a best-fit value, in units of the larger of its uncertainty and 1, for parameters that the
/// data determine.
pub const CUDA_BEST_FIT: f64 = 1e-6;

/// Absolute part of the tolerance of `-ln L` at the minimum.
pub const CUDA_MINIMUM_FLOOR: f64 = 1e-10;

/// Tolerance of a covariance element, relative to `sqrt(C_ii C_jj)`.
pub const CUDA_COVARIANCE: f64 = 1e-6;

/// Tolerance of the test statistic of a toy.
pub const CUDA_STATISTIC: f64 = 1e-8;
/// Fraction of toys that must agree with smooth interpolation.
pub const CUDA_STATISTIC_FRACTION: f64 = 0.9999;

/// Fraction of toys that must agree in strongly nonlinear models, where two searches may end in different
/// minima.
pub const CUDA_STATISTIC_NONLINEAR_FRACTION: f64 = 0.98;

/// Tolerance of the test statistic of a toy with piecewise interpolation, where two searches may end in
/// different minima.
pub const CUDA_STATISTIC_PIECEWISE: f64 = 1e-6;
/// Fraction of toys that must agree with piecewise interpolation.
pub const CUDA_STATISTIC_PIECEWISE_FRACTION: f64 = 0.995;

/// Tolerance of the impact of a parameter in a ranking.
pub const CUDA_IMPACT: f64 = 1e-6;
/// Number of first places of a ranking that must be the same.
pub const CUDA_TOP: f64 = 10.0;

/// All numbers of the contract with their names.
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
