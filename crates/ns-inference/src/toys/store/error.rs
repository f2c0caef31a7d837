//! Errors of files of toys, with remedies.

use std::path::PathBuf;

use thiserror::Error;

use crate::InferenceError;

/// A file that belongs to another run.
#[derive(Debug, Error)]
#[error("{}: from another run than {than}: {what} is {theirs} there and {ours} here; {remedy}", path.display())]
pub struct ForeignFile {
    /// The file.
    pub path: PathBuf,
    /// What it was compared with.
    pub than: String,
    /// What differs.
    pub what: String,
    /// In the file.
    pub theirs: String,
    /// In what it was compared with.
    pub ours: String,
    /// What to do.
    pub remedy: &'static str,
}

/// Why a file of toys cannot be read, written or used here.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system refused.
    #[error("{}: {doing}: {source}", path.display())]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// What was attempted.
        doing: &'static str,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The bytes are no Parquet file, or its end is missing.
    #[error(
        "{}: no Parquet file, or one that was cut short ({reason}); copy it again, or remove it and run its toys again",
        path.display()
    )]
    Broken {
        /// The file.
        path: PathBuf,
        /// Where reading ended.
        reason: String,
    },
    /// A Parquet file of something else.
    #[error("{}: not a file of toys: {reason}; name a file that --save of this program wrote", path.display())]
    NotToys {
        /// The file.
        path: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// Toys of the other kind.
    #[error(
        "{}: holds rows of `{found}`, not of `{expected}`; name files of one command only",
        path.display()
    )]
    OtherKind {
        /// The file.
        path: PathBuf,
        /// What it holds.
        found: String,
        /// What was asked for.
        expected: &'static str,
    },
    /// A format that this version does not know.
    #[error(
        "{}: toy file format {found}; this version reads format {expected}: use the version of NextStat that wrote it",
        path.display()
    )]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// The format that it names.
        found: String,
        /// The format known here.
        expected: u32,
    },
    /// Rows that no run writes, or that were changed after they were written.
    #[error("{}: damaged: {reason}; copy it again, or remove it and run its toys again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The first contradiction.
        reason: String,
    },
    /// Toys of another run.
    #[error(transparent)]
    Foreign(#[from] Box<ForeignFile>),
    /// Toys that occur twice.
    #[error(
        "{} and {} both have toys {first} to {last} of {stream}; leave one of the files out",
        one.display(), other.display()
    )]
    Overlap {
        /// A file.
        one: PathBuf,
        /// Another one.
        other: PathBuf,
        /// Their hypothesis.
        stream: &'static str,
        /// First toy that both have.
        first: u64,
        /// Last toy that both have.
        last: u64,
    },
    /// Toys that are missing in all files.
    #[error(
        "toys are missing: {missing}; run the missing shards (those interrupted with --resume) and name their files too, \
         or take what is there with --allow-incomplete"
    )]
    Incomplete {
        /// Which, in words.
        missing: String,
    },
    /// Saving would replace an earlier run.
    #[error(
        "{}: already there; continue that run with --resume, remove it for a fresh one, or choose another name",
        found.display()
    )]
    AlreadyThere {
        /// The file, or the folder of its pieces.
        found: PathBuf,
    },
    /// Another process writes the same file.
    #[error("{}: another run is writing this file; wait for it, or choose another name", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
}

impl StoreError {
    /// Whether the machine failed (a full disk), and not the request.
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
