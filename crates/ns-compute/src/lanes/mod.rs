//! Fits one model to many data sets, eight at a time: one fit per SIMD lane.
//!
//! The scalar optimiser (`optimise`) vectorises *within* a fit. A batch of toys offers more: the same sums
//! with the same coefficients for different data. Here every number of a fit is in one lane of a vector.
//! Coefficients are read once for eight fits, short channels are not padded, and small models fill the
//! vectors as well as large ones. A factored Hessian per lane would not fit into the cache. The Gauss-Newton
//! metric with a shared Jacobian does (`metric`), and limited-memory BFGS pairs correct it (`group`).
//!
//! Lanes are independent: the results of a toy depend on its own data alone, to the last bit.

mod descend;
pub(crate) mod directions;
mod evaluate;
mod factor_starts;
mod flips;
mod group;
mod jacobian;
pub(crate) mod metric;
mod scratch;
mod search;
mod solver;
mod starts;
#[cfg(test)]
mod tests;
mod toys;

#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
pub(crate) use jacobian::{Jacobian, jacobian};
#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
pub(crate) use toys::suit_lanes;
pub(crate) use toys::{Toy, ToyEnd, ToyFitter};

/// Number of fits that are made at the same time, one per lane of a SIMD vector.
pub(crate) const WIDTH: usize = 8;
