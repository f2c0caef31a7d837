//! Many fits of one model with different data, eight at a time: one fit per lane of a vector.
//!
//! The scalar optimiser (`optimise`) vectorises *within* a fit. A batch of toys offers more: the same sums with
//! the same coefficients for different data. Here every number of a fit is one lane of a vector, coefficients
//! are read once for eight fits, short channels are not padded, and small models fill the vectors as well as
//! large ones. A factored Hessian per lane would leave the cache; the Gauss-Newton metric with a shared
//! Jacobian does not (`metric`), and limited-memory BFGS pairs correct it (`group`).
//!
//! Lanes are independent: the bits of a toy depend on its data alone.

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
pub(crate) use jacobian::jacobian;
#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
pub(crate) use toys::suit_lanes;
pub(crate) use toys::{Toy, ToyEnd, ToyFitter};

/// Fits in one vector.
pub(crate) const WIDTH: usize = 8;
