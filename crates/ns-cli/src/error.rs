//! Turns every error into a message and an exit code.

use std::path::PathBuf;
use std::process::ExitCode;

use ns_core::SessionError;
use ns_inference::InferenceError;
use ns_inference::toys::store::StoreError;
use ns_translate::pyhf::WorkspaceError;
use ns_viz::PictureError;
use thiserror::Error;

/// The exit code of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Success.
    Done = 0,
    /// The analysis failed.
    Failed = 1,
    /// Wrong usage or invalid input.
    Input = 2,
    /// The device asked for is not there.
    Device = 3,
    /// Interrupted; the finished part was written.
    Interrupted = 130,
}

impl Exit {
    /// How an analysis ends that was interrupted or not, and has a good result or not.
    pub(crate) fn of(interrupted: bool, good: bool) -> Self {
        match (interrupted, good) {
            (true, _) => Self::Interrupted,
            (false, true) => Self::Done,
            (false, false) => Self::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command failed.
#[derive(Debug, Error)]
pub(crate) enum CliError {
    /// The workspace or a patch.
    #[error("{}{source}", place(origin, source))]
    Workspace {
        /// The file, or standard input.
        origin: String,
        /// What is wrong with it.
        source: WorkspaceError,
    },
    /// The analysis.
    #[error("{}{}", .0, where_names_are(.0))]
    Inference(#[from] InferenceError),
    /// A file of toys.
    #[error(transparent)]
    Toys(#[from] StoreError),
    /// A flag, or a file that a flag names.
    #[error("{0}")]
    Usage(String),
    /// A file cannot be written.
    #[error("cannot write {}: {source}{}", path.display(), if wrong_place(source) { "; check the path" } else { "" })]
    Write {
        /// Which file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A file that could be opened before the work cannot be written after it.
    #[error("cannot write {}: {source}{instead}", path.display())]
    Lost {
        /// Which file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
        /// Where the content was written instead, after a semicolon; empty if nowhere.
        instead: &'static str,
    },
    /// A picture cannot be drawn.
    #[error("cannot draw {}: {source}", path.display())]
    Picture {
        /// Which file.
        path: PathBuf,
        /// What is missing.
        source: PictureError,
    },
    /// A number cannot be written as JSON.
    #[error("cannot write the result as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// Whether a file cannot be written because of wrong usage (such as a missing folder), not because a disk is full.
fn wrong_place(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{IsADirectory, NotADirectory, NotFound, PermissionDenied};
    matches!(error.kind(), NotFound | PermissionDenied | IsADirectory | NotADirectory)
}

/// Where the user finds the existing names, for an error about an unknown name. Python has another text.
fn where_names_are(error: &InferenceError) -> &'static str {
    match error {
        error if !error.is_unknown_name() => "",
        error if error.to_string().ends_with('?') => " `nextstat inspect` lists all",
        _ => "; `nextstat inspect` lists all",
    }
}

/// The input's name, where the message itself does not say which file it is about.
fn place(origin: &str, error: &WorkspaceError) -> String {
    match error {
        WorkspaceError::Invalid { .. }
        | WorkspaceError::Syntax { .. }
        | WorkspaceError::NoSuchMeasurement { .. }
        | WorkspaceError::BadPoi { .. }
        | WorkspaceError::CannotEdit { .. }
        | WorkspaceError::AfterPatch { .. }
        | WorkspaceError::InvalidAfterEdit { .. } => format!("{origin}: "),
        _ => String::new(),
    }
}

impl CliError {
    /// The exit code of an error.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Workspace { .. } | Self::Usage(_) => Exit::Input,
            Self::Toys(error) if error.is_failure() => Exit::Failed,
            Self::Toys(_) => Exit::Input,
            Self::Write { source, .. } if wrong_place(source) => Exit::Input,
            Self::Write { .. } | Self::Lost { .. } | Self::Picture { .. } | Self::Json(_) => Exit::Failed,
            Self::Inference(error) => match error {
                InferenceError::Session(error) if error.is_of_device() => Exit::Device,
                InferenceError::Session(
                    SessionError::TooLarge { .. }
                    | SessionError::MemoryLimit { .. }
                    | SessionError::DeviceDisagrees { .. },
                )
                | InferenceError::FitFailed { .. } => Exit::Failed,
                InferenceError::Cancelled => Exit::Interrupted,
                _ => Exit::Input,
            },
        }
    }
}

impl From<SessionError> for CliError {
    fn from(error: SessionError) -> Self {
        Self::Inference(error.into())
    }
}
