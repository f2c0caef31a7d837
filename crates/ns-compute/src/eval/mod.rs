//! Evaluates a compiled model: the value of `-ln L` and its gradient. The caller owns all working memory.

mod forward;
mod gathered;
mod gradient;
mod likelihood;
mod scratch;

pub(crate) use forward::{forward, kappa_derivatives, norm_ratios};
pub(crate) use gradient::{constraint_curvatures, gradient, jumps};
pub(crate) use likelihood::{Dataset, Likelihood, likelihood};
pub(crate) use scratch::Scratch;
