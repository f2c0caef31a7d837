//! What only models of events have: expressions, as they are written in HS3 files, densities from samples, and, with
//! the feature `neural`, normalising flows.

pub mod expression;
pub mod flow;
pub mod kernels;
