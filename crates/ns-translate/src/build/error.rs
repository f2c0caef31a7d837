//! Errors of building a workspace.

use std::path::PathBuf;

use thiserror::Error;

use crate::hs3::WriteError;
use crate::pyhf::{Problem, Report, WorkspaceError};

/// Errors of building a workspace from a description or a configuration file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The configuration file cannot be read.
    #[error("cannot read the configuration {}: {source}. Check its path.", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The file is in a format that is no configuration.
    #[error("{} is {what}. Give a configuration of cabinetry or of TRExFitter.", path.display())]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// Name of the format.
        what: &'static str,
    },
    /// The file or the description is not valid, or its histograms cannot be had.
    #[error("the {what} has {}", counted(report))]
    Invalid {
        /// What is not valid: "description", or "configuration" and its path.
        what: String,
        /// All problems found, with at least one error. Their paths are JSON pointers, or `file:line`.
        report: Report,
    },
    /// The workspace would not be valid.
    #[error("the workspace that was built is not valid. {0}")]
    Workspace(#[from] Box<WorkspaceError>),
    /// The model has Poisson constraints, and cannot be written as HS3.
    #[error(
        "the model cannot be written as HS3: {0}. Use Gaussian constraints for the statistics of simulation."
    )]
    Hs3(#[source] WriteError),
}

impl BuildError {
    /// The problems of an invalid file or description. The list is empty for every other error.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        match self {
            Self::Invalid { report, .. } => &report.problems,
            Self::Workspace(source) => source.problems(),
            Self::Read { .. } | Self::OtherFormat { .. } | Self::Hs3(_) => &[],
        }
    }
}

impl From<BuildError> for WorkspaceError {
    fn from(error: BuildError) -> Self {
        let problems = error.problems().to_vec();
        Self::Archived { source: Box::new(error), problems }
    }
}

fn counted(report: &Report) -> String {
    let errors = report.errors().count() + report.omitted;
    let plural = if errors == 1 { "" } else { "s" };
    format!("{errors} error{plural}:\n{report}")
}
