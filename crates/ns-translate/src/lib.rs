//! Reader of pyhf's file formats: JSON workspaces, patches and patchsets.
//!
//! The crate turns text into a checked [`ns_core::Model`]; it does not evaluate models.

pub mod pyhf;
