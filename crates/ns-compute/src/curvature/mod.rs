//! Computes the exact Hessian of `-ln L` block by block (a block is one sample in one channel), and factors it in the
//! order of a [`Layout`](crate::plan::Layout). The factor is used for Newton steps, covariances and convergence
//! certificates.
//!
//! The modules in the order of their use: `assemble` computes matrices from derivatives, and `factor` factors these
//! matrices. `solve`, `invert`, `combine` and `keep` use the factors.

mod assemble;
mod block;
mod combine;
mod factor;
mod function;
mod invert;
mod keep;
mod per_bin;
mod scalars;
mod solve;
mod storage;

pub(crate) use assemble::{assemble, assemble_until};
pub(crate) use combine::combined_variances;
pub(crate) use factor::{Factored, factor, factor_until};
pub(crate) use invert::{covariance, variances};
pub(crate) use keep::FactoredInverse;
pub(crate) use solve::solve;
pub(crate) use storage::{Curvature, Point};
