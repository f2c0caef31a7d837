//! Turns every error into a message and an exit code.

use std::path::PathBuf;
use std::process::ExitCode;

use ns_core::SessionError;
use ns_inference::InferenceError;
use ns_inference::interval::SavedIntervalError;
use ns_inference::row_file::RowFileError;
use ns_inference::toys::store::{SavedRunError, StoreError};
use ns_translate::build::BuildError;
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
    /// The requested device is not available.
    Device = 3,
    /// The command was interrupted. The finished part of the result was written, if there is one.
    Interrupted = 130,
}

impl Exit {
    /// Returns the exit code of an analysis. `interrupted` says whether the analysis was interrupted. `good`
    /// says whether its result is usable, for example whether its fits converged.
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

/// Reasons why a command fails.
#[derive(Debug, Error)]
pub(crate) enum CliError {
    /// The workspace or a patch is wrong or cannot be read.
    #[error("{}{source}", place(origin, source))]
    Workspace {
        /// Name of the workspace file, or "standard input".
        origin: String,
        /// The error of the workspace or of the patch.
        source: WorkspaceError,
    },
    /// A workspace cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The analysis failed or was impossible.
    #[error("{}{}", .0, where_names_are(.0))]
    Inference(#[from] InferenceError),
    /// A file of toys is not valid, or cannot be read or written.
    #[error(transparent)]
    Toys(#[from] StoreError),
    /// The file of a grid or of an interval is not valid, or cannot be read or written.
    #[error(transparent)]
    Rows(#[from] RowFileError),
    /// A flag, or a file that a flag names, is wrong. The text is the message.
    #[error("{0}")]
    Usage(String),
    /// A file cannot be written.
    #[error("cannot write {}: {source}{}", path.display(), if wrong_place(source) { "; check the path" } else { "" })]
    Write {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A file could be opened before the analysis, but cannot be written after it.
    #[error("cannot write {}: {source}{instead}", path.display())]
    Lost {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
        /// End of the message, which says where the content was written instead. The text is empty if the content was
        /// not written.
        instead: &'static str,
    },
    /// A picture cannot be drawn.
    #[error("cannot draw {}: {source}", path.display())]
    Picture {
        /// The file.
        path: PathBuf,
        /// Reason why the picture cannot be drawn.
        source: PictureError,
    },
    /// A result has nothing to draw.
    #[error("cannot draw {}: {why}", path.display())]
    Undrawn {
        /// The file.
        path: PathBuf,
        /// What it lacks.
        why: String,
    },
    /// The result cannot be written as JSON.
    #[error("cannot write the result as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl From<SavedIntervalError> for CliError {
    fn from(error: SavedIntervalError) -> Self {
        match error {
            SavedIntervalError::File(error) => error.into(),
            SavedIntervalError::Inference(error) => error.into(),
        }
    }
}

impl From<SavedRunError> for CliError {
    fn from(error: SavedRunError) -> Self {
        match error {
            SavedRunError::Store(error) => error.into(),
            SavedRunError::Inference(error) => error.into(),
        }
    }
}

/// Returns whether an error in writing a file comes from wrong usage, such as a missing folder. It is false
/// for a failure of the system, such as a full disk.
fn wrong_place(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{AlreadyExists, IsADirectory, NotADirectory, NotFound, PermissionDenied};
    matches!(error.kind(), NotFound | PermissionDenied | IsADirectory | NotADirectory | AlreadyExists)
}

/// Returns the end of the message about an unknown name, which says how to list all names. For any other error the text
/// is empty.
fn where_names_are(error: &InferenceError) -> &'static str {
    match error {
        error if !error.is_unknown_name() => "",
        error if error.to_string().ends_with('?') => " `nextstat inspect` lists all",
        _ => "; `nextstat inspect` lists all",
    }
}

/// Returns the start of an error message: the name `origin` of the input, or an empty text if the error already names a
/// file.
fn place(origin: &str, error: &WorkspaceError) -> String {
    match error {
        WorkspaceError::Invalid { .. }
        | WorkspaceError::InvalidHs3 { .. }
        | WorkspaceError::ChooseAnalysis { .. }
        | WorkspaceError::Syntax { .. }
        | WorkspaceError::OtherFormat { .. }
        | WorkspaceError::NoSuchMeasurement { .. }
        | WorkspaceError::BadPoi { .. }
        | WorkspaceError::CannotEdit { .. }
        | WorkspaceError::AfterPatch { .. }
        | WorkspaceError::InvalidAfterEdit { .. } => format!("{origin}: "),
        _ => String::new(),
    }
}

impl CliError {
    /// Returns the exit code of the error.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Workspace { .. } | Self::Build(_) | Self::Usage(_) => Exit::Input,
            Self::Toys(error) if error.is_failure() => Exit::Failed,
            Self::Rows(error) if error.is_failure() => Exit::Failed,
            Self::Toys(_) | Self::Rows(_) => Exit::Input,
            Self::Write { source, .. } if wrong_place(source) => Exit::Input,
            Self::Write { .. }
            | Self::Lost { .. }
            | Self::Picture { .. }
            | Self::Undrawn { .. }
            | Self::Json(_) => Exit::Failed,
            Self::Inference(error) => match error {
                InferenceError::Session(error) if error.is_of_device() => Exit::Device,
                InferenceError::Session(
                    SessionError::TooLarge { .. }
                    | SessionError::MemoryLimit { .. }
                    | SessionError::DeviceDisagrees { .. },
                )
                | InferenceError::FitFailed { .. }
                | InferenceError::Sampling { .. } => Exit::Failed,
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
