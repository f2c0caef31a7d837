//! Evaluation of a compiled model: value and gradient. All scratch belongs to the caller.

mod forward;
mod gradient;
mod likelihood;
mod scratch;

pub(crate) use forward::{forward, kappa_derivatives, norm_ratios};
pub(crate) use gradient::{constraint_curvatures, gradient};
pub(crate) use likelihood::{Dataset, Likelihood, likelihood};
pub(crate) use scratch::Scratch;
