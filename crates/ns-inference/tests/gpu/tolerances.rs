//! The parity contract between the CPU and a CUDA device, row by row, as numbers. The Python tests have the
//! same in `tests/python/_tolerances.py`; `tests/tolerances.rs` compares the two.
#![allow(dead_code, unreachable_pub)]

/// `-ln L` at the same point: so many units of the last place of the sum of absolute terms, and a floor.
pub const CUDA_NLL_ROUNDINGS: f64 = 8.0;
pub const CUDA_NLL_FLOOR: f64 = 1e-12;

/// A gradient element: relative to the sum of the absolute terms that it is made of.
pub const CUDA_GRADIENT: f64 = 1e-12;

/// A Hessian element: relative to the root of the product of both parameters' sums of absolute terms.
pub const CUDA_HESSIAN: f64 = 1e-12;

/// A best-fit value: in units of the larger of its uncertainty and 1, on identified directions.
pub const CUDA_BEST_FIT: f64 = 1e-6;

/// `-ln L` at the minimum: the floor beside the roundings above.
pub const CUDA_MINIMUM_FLOOR: f64 = 1e-10;

/// A covariance element: relative to `sqrt(C_ii C_jj)`.
pub const CUDA_COVARIANCE: f64 = 1e-6;

/// The test statistic of a toy, and the fraction of toys that must keep to it.
pub const CUDA_STATISTIC: f64 = 1e-8;
pub const CUDA_STATISTIC_FRACTION: f64 = 0.9999;

/// The same with piecewise interpolation, whose likelihoods have many minima: two searches do not always end in the
/// same one.
pub const CUDA_STATISTIC_PIECEWISE: f64 = 1e-6;
pub const CUDA_STATISTIC_PIECEWISE_FRACTION: f64 = 0.995;

/// The impact of a parameter in a ranking, and how many of the first places must be the same.
pub const CUDA_IMPACT: f64 = 1e-6;
pub const CUDA_TOP: f64 = 10.0;

/// All of them by name.
pub const ALL: [(&str, f64); 13] = [
    ("CUDA_NLL_ROUNDINGS", CUDA_NLL_ROUNDINGS),
    ("CUDA_NLL_FLOOR", CUDA_NLL_FLOOR),
    ("CUDA_GRADIENT", CUDA_GRADIENT),
    ("CUDA_HESSIAN", CUDA_HESSIAN),
    ("CUDA_BEST_FIT", CUDA_BEST_FIT),
    ("CUDA_MINIMUM_FLOOR", CUDA_MINIMUM_FLOOR),
    ("CUDA_COVARIANCE", CUDA_COVARIANCE),
    ("CUDA_STATISTIC", CUDA_STATISTIC),
    ("CUDA_STATISTIC_FRACTION", CUDA_STATISTIC_FRACTION),
    ("CUDA_STATISTIC_PIECEWISE", CUDA_STATISTIC_PIECEWISE),
    ("CUDA_STATISTIC_PIECEWISE_FRACTION", CUDA_STATISTIC_PIECEWISE_FRACTION),
    ("CUDA_IMPACT", CUDA_IMPACT),
    ("CUDA_TOP", CUDA_TOP),
];
