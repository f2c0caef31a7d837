//! Readers of pyhf's JSON workspaces, patches and patchsets, of HS3 models, of HistFactory's XML, of datacards, and of events in Parquet
//! files.
//!
//! The crate turns text into a checked [`ns_core::Model`]. It does not evaluate models.

mod archived;
pub mod arrow;
pub mod build;
mod contents;
pub mod datacard;
mod files;
mod formula;
pub mod histfactory;
pub mod hs3;
mod log_normal;
pub mod pyhf;
mod recognise;
mod source;
mod xml_error;

pub use contents::{
    ChannelRow, Contents, CorrelationRow, EventChannelRow, FunctionRow, ParameterRow, ProblemRow, SampleRow,
};
pub use files::{Archive, ArchiveError, ArchiveLimits, Files};
pub use pyhf::axes::{Axes, AxesError, Axis};
pub use pyhf::{CorrelationTable, CorrelationTables, CorrelationsError};
pub use recognise::{Format, SourceText};
pub use source::ModelSource;
