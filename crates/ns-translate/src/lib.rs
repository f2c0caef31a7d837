//! File formats: pyhf's JSON workspaces, patches and patchsets.
//!
//! The crate turns text into a checked [`ns_core::Model`]; it evaluates nothing.

pub mod pyhf;
