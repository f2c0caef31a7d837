//! What can be wrong with an archive.

use thiserror::Error;

use crate::pyhf::WorkspaceError;
use crate::pyhf::error::meant;
use crate::pyhf::names::{list, quoted};

/// Why an archive cannot be unpacked, or has no model.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The bytes do not follow the format.
    #[error("the archive is damaged ({reason}). Pack or download it again.")]
    Damaged {
        /// What is wrong.
        reason: String,
    },
    /// A file is packed in a way that is not read, for example with a password.
    #[error(
        "'{name}' in the archive cannot be unpacked ({reason}). Pack it without a password, with deflate."
    )]
    Method {
        /// Name of the file, or its number.
        name: String,
        /// What is not read.
        reason: String,
    },
    /// The files have too many bytes together.
    #[error(
        "the archive unpacks to more than {limit} bytes, the most that is unpacked here. Leave out the files that the model does not need."
    )]
    TooLarge {
        /// Largest number of bytes of all files together.
        limit: u64,
    },
    /// There are too many files and folders.
    #[error(
        "the archive has more than {limit} files and folders, the most that is unpacked here. Leave out the files that the model does not need."
    )]
    TooMany {
        /// Largest number of files and folders.
        limit: usize,
    },
    /// The name of a file leads out of the folder into which the archive would be unpacked, or cannot be one.
    #[error(
        "the name {} in the archive {reason}. Pack the folder again with names that begin in it.",
        quoted(name)
    )]
    Name {
        /// The name, of which a long one is cut.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A member is no file and no folder.
    #[error(
        "the archive has {what} called {}. Pack the file itself instead; `tar --dereference` does.",
        quoted(name)
    )]
    Link {
        /// The name, of which a long one is cut.
        name: String,
        /// What it is, such as "a link".
        what: &'static str,
    },
    /// No file is a model.
    #[error(
        "the archive has no workspace, no HS3 model, no combination file of HistFactory, no datacard and no configuration. {}",
        list("Its files are", members)
    )]
    NoModel {
        /// The files.
        members: Vec<String>,
    },
    /// Several files are models.
    #[error(
        "the archive has several models. Name one of them with the key `file`. {}",
        list("They are", candidates)
    )]
    Choose {
        /// The files that are models.
        candidates: Vec<String>,
    },
    /// The named file is not there.
    #[error(
        "the archive has no file {}.{} {}",
        quoted(name),
        meant(name, members),
        list("Its files are", members)
    )]
    NoMember {
        /// The name.
        name: String,
        /// The files.
        members: Vec<String>,
    },
    /// The texts of the archive are too long for what may be read.
    #[error(
        "{} is too long for what may be read of this archive. Leave out what the model does not need.",
        quoted(name)
    )]
    LongText {
        /// The file.
        name: String,
    },
}

impl From<ArchiveError> for WorkspaceError {
    fn from(error: ArchiveError) -> Self {
        Self::Archived { source: Box::new(error), problems: Vec::new() }
    }
}
