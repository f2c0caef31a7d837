//! What only models of events have: expressions, as they are written in HS3 files.

pub mod expression;
pub mod kernels;
