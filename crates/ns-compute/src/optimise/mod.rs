//! Bounded minimisation of one likelihood, to a certificate.
//!
//! `descend` runs Newton's method with the exact Hessian from one start point; `search`
//! decides which further start points are worth a descent; `finish` adds
//! uncertainties. `step` solves the box-constrained quadratic problem of one iteration.

mod active;
mod curved_step;
mod descend;
mod escape;
mod finish;
mod memory;
mod neighbour;
mod search;
mod step;
mod worker;

#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
pub(crate) use active::classify;
#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
pub(crate) use finish::NEAR_KINK;
pub(crate) use finish::{DENSE_LIMIT, fit};
pub(crate) use search::MOST_FREE;
pub(crate) use worker::{Problem, Worker};
