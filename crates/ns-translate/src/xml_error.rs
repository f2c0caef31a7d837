//! What can be wrong with HistFactory XML.

use std::fmt;
use std::path::PathBuf;

use ns_root::RootError;
use thiserror::Error;

/// A place in an XML file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Path of the file.
    pub file: String,
    /// Line, counted from 1.
    pub line: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Why HistFactory XML cannot be read, or a workspace cannot be written as XML.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HistFactoryError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The text is not XML.
    #[error("{place}: not valid XML: {message}. Correct the file; `xmllint FILE` shows all such mistakes.")]
    Syntax {
        /// Where the mistake is.
        place: Place,
        /// What is wrong.
        message: String,
    },
    /// An element is not what HistFactory has, or cannot be represented.
    #[error("{place}: {element}: {message} {remedy}")]
    Element {
        /// Where the element is.
        place: Place,
        /// The element with its name, such as `<Sample Name="signal">`.
        element: String,
        /// What is wrong, in whole sentences.
        message: String,
        /// What the user can do, in whole sentences.
        remedy: String,
    },
    /// A file that the XML names does not exist.
    #[error(
        "{place}: {element}: there is no file '{path}'. It was looked for as {}. \
         Correct the path, or run the command where the paths of the XML begin.",
        tried.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
    )]
    NoFile {
        /// Where the element is.
        place: Place,
        /// The element with its name.
        element: String,
        /// The path as the XML has it.
        path: String,
        /// The files that were looked for, in this order.
        tried: Vec<PathBuf>,
    },
    /// A histogram cannot be read.
    #[error("{place}: {element}: {source}")]
    Root {
        /// Where the element is that needs the histogram.
        place: Place,
        /// The element with its name.
        element: String,
        /// What is wrong.
        source: Box<RootError>,
    },
    /// A ROOT file cannot be written.
    #[error(transparent)]
    RootFile(#[from] Box<RootError>),
    /// A workspace has a part that HistFactory XML cannot express.
    #[error("{part} cannot be written as HistFactory XML: {message} {remedy}")]
    NotWritten {
        /// The part: measurement, channel, sample or modifier, with its name.
        part: String,
        /// Why.
        message: String,
        /// What the user can do.
        remedy: String,
    },
}
