//! Fits one model to many data sets, eight at a time: one fit per SIMD lane.
//!
//! The scalar optimiser (`optimise`) uses SIMD vectors within one fit. Here, each fit has one lane of every vector,
//! because the fits of a batch of toys compute the same sums with the same coefficients for different data.
//! Coefficients are read once for eight fits, short channels are not padded, and small models fill the vectors as well
//! as large ones do.
//!
//! A factored Hessian for each lane would not fit into the cache. Therefore all lanes share the Jacobian of a
//! Gauss-Newton metric (`metric`), and limited-memory BFGS pairs correct this metric (`group`). In strongly nonlinear
//! models of moderate size each lane has its own Jacobian (`derivatives`).
//!
//! The results of a toy depend on the data of this toy alone, to the last bit, and not on the toys in the other lanes.

mod bin_groups;
mod columns;
mod correlated;
pub(crate) mod derivatives;
mod descend;
mod descents;
pub(crate) mod directions;
mod evaluate;
mod factor_starts;
mod flips;
mod folds;
mod group;
mod jacobian;
mod known_minimum;
pub(crate) mod metric;
mod own_metric;
pub(crate) mod own_norms;
mod scratch;
mod search;
mod single_moves;
mod solver;
mod starts;
#[cfg(test)]
mod tests;
mod toys;

#[cfg(feature = "metal")]
pub(crate) use descend::{DescentEnd, DescentJob, DescentMemory, FitKind};
pub(crate) use descents::DescentDevice;
#[cfg(feature = "metal")]
pub(crate) use descents::Descents;
#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
pub(crate) use folds::Fold;
#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
pub(crate) use jacobian::{Jacobian, jacobian};
pub(crate) use metric::{is_too_large, is_too_large_for_gpus};
#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
pub(crate) use toys::suit_lanes;
pub(crate) use toys::{Further, PILOTS, Toy, ToyEnd, ToyFitter};

/// Number of fits that are made at the same time: the number of lanes of a SIMD vector.
pub(crate) const WIDTH: usize = 8;
