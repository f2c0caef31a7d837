//! Minimises one likelihood within bounds, and certifies the minimum.
//!
//! `descend` runs Newton's method with the exact Hessian from one starting point. `step` solves the quadratic problem
//! with bounds of one iteration. `search` chooses further starting points. `finish` adds uncertainties.

mod active;
mod curved_step;
mod descend;
mod endless;
mod escape;
mod finish;
mod flat;
mod function_kinks;
mod memory;
mod neighbour;
mod not_finite;
mod null_space;
mod prices;
mod search;
mod step;
mod wall;
mod worker;

#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
pub(crate) use active::classify;
#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
pub(crate) use finish::NEAR_KINK;
pub(crate) use finish::{DENSE_LIMIT, fit};
pub(crate) use search::{BUDGET_TIMES, Budget, MOST_FREE};
pub(crate) use worker::{Problem, Worker};
