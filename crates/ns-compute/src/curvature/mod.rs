//! The exact Hessian of `-ln L`, assembled block by block, factored in the order of a
//! [`Layout`](crate::plan::Layout), and used to solve, to invert and to certify.
//!
//! Verbs: `assemble` (derivatives to matrices), `factor`, `solve`, `invert`, `combine`.

mod assemble;
mod block;
mod combine;
mod factor;
mod invert;
mod per_bin;
mod scalars;
mod solve;
mod storage;

pub(crate) use assemble::{assemble, assemble_until};
pub(crate) use combine::combined_variances;
pub(crate) use factor::{Factored, factor, factor_until};
pub(crate) use invert::{covariance, variances};
pub(crate) use solve::solve;
pub(crate) use storage::{Curvature, Point};
