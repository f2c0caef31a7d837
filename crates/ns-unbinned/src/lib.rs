//! Densities for models of events: expressions of HS3 files, density estimates from samples and, with the feature
//! `neural`, normalising flows.

pub mod expression;
pub mod flow;
pub mod kernels;
