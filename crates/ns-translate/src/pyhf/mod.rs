//! pyhf workspaces: text is read as a [`Workspace`]. Models ([`ns_core::Model`]) are built from it.
//!
//! ```
//! # fn main() -> Result<(), ns_translate::pyhf::WorkspaceError> {
//! use ns_translate::pyhf::{ModelOptions, Workspace};
//!
//! let text = br#"{
//!   "channels": [{"name": "SR", "samples": [
//!     {"name": "signal", "data": [5.0], "modifiers": [{"name": "mu", "type": "normfactor", "data": null}]},
//!     {"name": "background", "data": [50.0], "modifiers": []}]}],
//!   "observations": [{"name": "SR", "data": [53.0]}],
//!   "measurements": [{"name": "fit", "config": {"poi": "mu", "parameters": []}}],
//!   "version": "1.0.0"}"#;
//! let model = Workspace::from_slice(text)?.model(&ModelOptions::default())?;
//! assert_eq!(model.parameters[0].name, "mu");
//! # Ok(())
//! # }
//! ```
//!
//! Order, names, start values, bounds and constraints are those of pyhf 0.7. Input that pyhf rejects is rejected here
//! too, with the path in the file and a remedy. The only exception is input with just one possible meaning: it is
//! accepted with a warning. All problems of a file are reported at once.

pub(crate) mod axes;
mod build;
mod correlate;
mod declare;
pub(crate) mod diagnose;
pub(crate) mod document;
mod edit;
pub(crate) mod error;
mod from_functions;
mod from_model;
mod functions;
mod impossible;
mod input;
pub(crate) mod interest;
mod layout;
mod listed;
mod mark;
pub(crate) mod names;
mod parse;
mod patch;
pub(crate) mod problem;
mod rules;
mod settings;
mod summary;
mod tolerate;
mod workspace;
mod written;

pub use correlate::{CorrelationTable, CorrelationTables, CorrelationsError};
pub(crate) use diagnose::expect;
pub use edit::{
    Change, ChannelSelection, Combine, Decorrelate, DecorrelateBy, Edited, Join, KeptEffect, Operation,
    Prune, Region, Rename,
};
pub use error::WorkspaceError;
pub use from_model::{NotPyhf, renamed, workspace_of};
pub(crate) use input::{Bounded, is_tar};
pub use input::{file_of, read_file, read_from};
pub use interest::is_pattern;
pub use layout::to_text;
pub use listed::ListedAnalysis;
pub use patch::{
    Background, DigestAlgorithm, DigestCheck, Patch, PatchArgument, Patchset, Signal, SignalGrid,
};
pub use problem::{Problem, Report, Severity};
pub use summary::{ChannelSummary, MeasurementSummary, ParameterSummary, Summary};
pub use workspace::{ModelOptions, Workspace, validate_slice};
pub use written::WrittenWorkspace;
