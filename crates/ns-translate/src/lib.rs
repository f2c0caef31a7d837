//! Readers of pyhf's JSON workspaces, patches and patchsets, of HS3 models, of datacards, and of events in Parquet
//! files.
//!
//! The crate turns text into a checked [`ns_core::Model`]. It does not evaluate models.

pub mod arrow;
mod contents;
pub mod datacard;
pub mod hs3;
pub mod pyhf;
mod source;

pub use contents::{ChannelRow, Contents, EventChannelRow, ParameterRow, ProblemRow, SampleRow};
pub use source::ModelSource;
