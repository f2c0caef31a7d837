//! Evaluation of a compiled model: value, gradient and Hessian-vector product. All
//! scratch belongs to the caller.

mod forward;
mod gradient;
mod hessian_vector;
mod likelihood;
mod scratch;

pub(crate) use forward::{forward, kappa_derivatives, norm_ratios};
pub(crate) use gradient::gradient;
pub(crate) use hessian_vector::{Tangent, hessian_vector};
pub(crate) use likelihood::{Dataset, Likelihood, likelihood};
pub(crate) use scratch::Scratch;
