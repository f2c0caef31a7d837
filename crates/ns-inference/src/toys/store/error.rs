//! Errors of files of toys. Each message says what to do.

use std::path::PathBuf;

use thiserror::Error;

use crate::InferenceError;

/// The error for a file of toys that belongs to another run.
#[derive(Debug, Error)]
#[error("{}: from another run than {than}: {what} is {theirs} there and {ours} here; {remedy}", path.display())]
pub struct ForeignFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Text for the run with which the file was compared: the path of another file, or "this one" for the current
    /// run.
    pub than: String,
    /// Name of the property that differs.
    pub what: String,
    /// Value of the property in the file.
    pub theirs: String,
    /// Value of the property in the other file, or in this run.
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
        /// Operation that failed, for example `cannot be read`.
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
        /// Message of the error that occurred while the file was read.
        reason: String,
    },
    /// The file is a Parquet file, but does not contain toys.
    #[error("{}: not a file of toys: {reason}; name a file that --save of this program wrote", path.display())]
    NotToys {
        /// Path of the file.
        path: PathBuf,
        /// Description of the entry that is missing in the file.
        reason: String,
    },
    /// The file contains toys of a hypothesis test where toys of a study are expected, or vice versa.
    #[error(
        "{}: holds rows of `{found}`, not of `{expected}`; name files of one command only",
        path.display()
    )]
    OtherKind {
        /// Path of the file.
        path: PathBuf,
        /// Name of the type of toys in the file.
        found: String,
        /// Name of the type of toys that was expected.
        expected: &'static str,
    },
    /// The format of the file is not known to this version of NextStat.
    #[error(
        "{}: toy file format {found}; this version reads format {expected}: use the version of NextStat that wrote it",
        path.display()
    )]
    OtherFormat {
        /// Path of the file.
        path: PathBuf,
        /// Format version of the file.
        found: String,
        /// Format version that this version of NextStat can read.
        expected: u32,
    },
    /// The file has rows that no run writes. It may have been changed after it was written.
    #[error("{}: damaged: {reason}; copy it again, or remove it and run its toys again", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Description of the first inconsistency found in the file.
        reason: String,
    },
    /// The file belongs to another run.
    #[error(transparent)]
    Foreign(#[from] Box<ForeignFile>),
    /// Two files contain the same toys.
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
        /// Index of the first toy that is in both files.
        first: u64,
        /// Index of the last toy in the first range of consecutive toys that is in both files.
        last: u64,
    },
    /// Some toys are in none of the files.
    #[error(
        "toys are missing: {missing}; run the missing shards (those interrupted with --resume) and name their files too, \
         or take what is there with --allow-incomplete"
    )]
    Incomplete {
        /// Description of the missing toys.
        missing: String,
    },
    /// The file, or a folder with pieces of it, already exists from an earlier run and would be replaced.
    #[error(
        "{}: already there; continue that run with --resume, remove it for a fresh one, or choose another name",
        found.display()
    )]
    AlreadyThere {
        /// Path of the existing file, or of the folder with its pieces.
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
    /// Returns whether the cause of the error is a failure of the machine, such as a full disk. If false, the cause is
    /// a mistake in the request.
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
