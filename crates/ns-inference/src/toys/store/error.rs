//! Errors of files of toys, with advice on what to do.

use std::path::PathBuf;

use thiserror::Error;

use crate::InferenceError;

/// The error that a file of toys belongs to another run.
#[derive(Debug, Error)]
#[error("{}: from another run than {than}: {what} is {theirs} there and {ours} here; {remedy}", path.display())]
pub struct ForeignFile {
    /// Path of the file.
    pub path: PathBuf,
    /// What the file was compared with: the name of another file, or this run.
    pub than: String,
    /// Property that differs.
    pub what: String,
    /// Value in the file.
    pub theirs: String,
    /// Value in the other file, or in this run.
    pub ours: String,
    /// Advice on what to do.
    pub remedy: &'static str,
}

/// Reason why a file of toys cannot be read, written or used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system reported an error.
    #[error("{}: {doing}: {source}", path.display())]
    Io {
        /// Path of the file or folder.
        path: PathBuf,
        /// Operation that failed, as in `cannot be read`.
        doing: &'static str,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The file is not a Parquet file, or its end is missing.
    #[error(
        "{}: no Parquet file, or one that was cut short ({reason}); copy it again, or remove it and run its toys again",
        path.display()
    )]
    Broken {
        /// Path of the file.
        path: PathBuf,
        /// Error at which reading ended.
        reason: String,
    },
    /// The file is a Parquet file, but not one of toys.
    #[error("{}: not a file of toys: {reason}; name a file that --save of this program wrote", path.display())]
    NotToys {
        /// Path of the file.
        path: PathBuf,
        /// Description of the entry that is missing.
        reason: String,
    },
    /// The file holds toys of the other kind (toys of tests or toys of studies).
    #[error(
        "{}: holds rows of `{found}`, not of `{expected}`; name files of one command only",
        path.display()
    )]
    OtherKind {
        /// Path of the file.
        path: PathBuf,
        /// Kind of toys in the file.
        found: String,
        /// Kind of toys asked for.
        expected: &'static str,
    },
    /// The file has a format that this version does not know.
    #[error(
        "{}: toy file format {found}; this version reads format {expected}: use the version of NextStat that wrote it",
        path.display()
    )]
    OtherFormat {
        /// Path of the file.
        path: PathBuf,
        /// Format version that the file states.
        found: String,
        /// Format version that this version of NextStat reads.
        expected: u32,
    },
    /// The file has rows that no run writes. The rows may have been changed after they were written.
    #[error("{}: damaged: {reason}; copy it again, or remove it and run its toys again", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// The first contradiction found in the file.
        reason: String,
    },
    /// The file belongs to another run.
    #[error(transparent)]
    Foreign(#[from] Box<ForeignFile>),
    /// Some toys are in two files.
    #[error(
        "{} and {} both have toys {first} to {last} of {stream}; leave one of the files out",
        one.display(), other.display()
    )]
    Overlap {
        /// Path of one file.
        one: PathBuf,
        /// Path of the other file.
        other: PathBuf,
        /// Name of the series of these toys: the hypothesis, or the study.
        stream: &'static str,
        /// Index of the first toy that both files have.
        first: u64,
        /// Index of the last toy in the first range of toys that both files have.
        last: u64,
    },
    /// Some toys are missing in all files.
    #[error(
        "toys are missing: {missing}; run the missing shards (those interrupted with --resume) and name their files too, \
         or take what is there with --allow-incomplete"
    )]
    Incomplete {
        /// Missing toys, in words.
        missing: String,
    },
    /// The toys of an earlier run exist already and would be replaced.
    #[error(
        "{}: already there; continue that run with --resume, remove it for a fresh one, or choose another name",
        found.display()
    )]
    AlreadyThere {
        /// Path of the existing file, or of the folder that holds its pieces.
        found: PathBuf,
    },
    /// Another process is writing the same file.
    #[error("{}: another run is writing this file; wait for it, or choose another name", path.display())]
    Busy {
        /// Path of the file.
        path: PathBuf,
    },
}

impl StoreError {
    /// Returns whether the cause is a failure of the machine (for example, a full disk) and not a wrong request.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        use std::io::ErrorKind::{IsADirectory, NotADirectory, NotFound, PermissionDenied};
        match self {
            Self::Io { source, .. } => {
                !matches!(source.kind(), NotFound | PermissionDenied | IsADirectory | NotADirectory)
            }
            _ => false,
        }
    }
}

impl From<StoreError> for InferenceError {
    fn from(error: StoreError) -> Self {
        let path = match &error {
            StoreError::Io { path, .. }
            | StoreError::Broken { path, .. }
            | StoreError::NotToys { path, .. }
            | StoreError::OtherKind { path, .. }
            | StoreError::OtherFormat { path, .. }
            | StoreError::Damaged { path, .. }
            | StoreError::AlreadyThere { found: path, .. }
            | StoreError::Busy { path } => path.display().to_string(),
            StoreError::Foreign(stranger) => stranger.path.display().to_string(),
            StoreError::Overlap { .. } | StoreError::Incomplete { .. } => String::new(),
        };
        let text = error.to_string();
        let problem = text.strip_prefix(&format!("{path}: ")).unwrap_or(&text).to_owned();
        Self::ToyFile { path, problem }
    }
}
