//! Densities of models of events: expressions of HS3 files, densities from samples, and, with the feature `neural`,
//! normalising flows.

pub mod expression;
pub mod flow;
pub mod kernels;
