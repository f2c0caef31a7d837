//! What can be wrong with a ROOT file.

use std::io;

/// Why bytes of a ROOT file cannot be read. `at` is a position in the file, or in an object after it was decompressed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The bytes end too early.
    #[error("byte {at}: {what} needs {wanted} bytes, and {left} are left")]
    Short {
        /// Position in bytes.
        at: u64,
        /// What was being read.
        what: &'static str,
        /// Number of bytes that it needs.
        wanted: u64,
        /// Number of bytes that there are.
        left: u64,
    },
    /// A number is not possible at its place.
    #[error("byte {at}: {what} is {found}, but must be {expected}")]
    Value {
        /// Position in bytes.
        at: u64,
        /// What the number means.
        what: &'static str,
        /// The number in the file.
        found: i64,
        /// Which numbers are possible, in words.
        expected: &'static str,
    },
    /// A name is not possible at its place.
    #[error("byte {at}: {what} is '{found}', but must be {expected}")]
    Name {
        /// Position in bytes.
        at: u64,
        /// What the name means.
        what: &'static str,
        /// The name in the file.
        found: String,
        /// Which names are possible, in words.
        expected: &'static str,
    },
    /// Two numbers of elements must agree, but do not.
    #[error(
        "{what} has {found} elements, but the axes have {expected} bins, underflow and overflow included"
    )]
    Count {
        /// Which numbers.
        what: &'static str,
        /// Number of elements.
        found: u64,
        /// Number of bins of the axes.
        expected: u64,
    },
    /// A compressed block cannot be decompressed.
    #[error("block at byte {at}: {method} reports: {reason}")]
    Block {
        /// Position of the block in bytes, within the compressed object.
        at: u64,
        /// Name of the compression.
        method: &'static str,
        /// What the decompression says.
        reason: String,
    },
    /// The bounds of bins do not increase.
    #[error("the edges of the {axis} axis do not increase: {low} is followed by {high}")]
    Edges {
        /// `x` or `y`.
        axis: char,
        /// The lower edge, as text, because it may be NaN.
        low: String,
        /// The next edge.
        high: String,
    },
}

/// Why a ROOT file or one of its histograms cannot be read or written. `file` is the path, or the name that the caller gave to the bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RootError {
    /// The operating system does not give the bytes.
    #[error("{file}: cannot be read: {source}")]
    Read {
        /// The file.
        file: String,
        /// What the operating system says.
        source: io::Error,
    },
    /// The operating system does not take the bytes.
    #[error("{file}: cannot be written: {source}")]
    Write {
        /// The file.
        file: String,
        /// What the operating system says.
        source: io::Error,
    },
    /// The file is something else.
    #[error(
        "{file}: not a ROOT file, because it does not begin with the letters 'root'. Give the path of a ROOT file."
    )]
    NotRoot {
        /// The file.
        file: String,
    },
    /// The program that wrote the file did not finish.
    #[error(
        "{file}: {directory} has no list of its contents, so the program that wrote the file did not close it. \
         Open the file once with ROOT (`TFile::Open(\"...\", \"UPDATE\")`), which recovers what is there, or write it again."
    )]
    NotClosed {
        /// The file.
        file: String,
        /// Which directory, in words.
        directory: String,
    },
    /// Bytes that do not follow the format.
    #[error("{file}: {object}: {source}. The file is damaged or was cut; copy or write it again.")]
    Damaged {
        /// The file.
        file: String,
        /// Which part of it, in words.
        object: String,
        /// What is wrong.
        source: Malformed,
    },
    /// Layout of a ROOT version that this reader does not know.
    #[error(
        "{file}: {object}: version {found} of {class} is not known, only {known}. Write it again with ROOT 5.18 to 6.38 or uproot."
    )]
    Version {
        /// The file.
        file: String,
        /// Path of the histogram.
        object: String,
        /// The class.
        class: &'static str,
        /// Its version in the file.
        found: u16,
        /// The known versions, in words.
        known: &'static str,
    },
    /// Nothing has this name.
    #[error("{file}: has no '{path}'{}. Correct the name.", hint(.nearest))]
    Missing {
        /// The file.
        file: String,
        /// What was asked for.
        path: String,
        /// The closest spelling that exists, or the cycles that exist.
        nearest: Option<String>,
    },
    /// The object is no histogram that can be read.
    #[error(
        "{file}: '{path}' is a {class}, but only the classes TH1 and TH2 of the number types C, S, I, F, D and L are read. Give the path of a histogram."
    )]
    NotHistogram {
        /// The file.
        file: String,
        /// What was asked for.
        path: String,
        /// Its class.
        class: String,
    },
    /// The object is no tree that can be read.
    #[error(
        "{file}: '{path}' is a {class}, but only the classes TTree and TNtuple are read. Give the path of a tree, or write it as Parquet."
    )]
    NotTree {
        /// The file.
        file: String,
        /// What was asked for.
        path: String,
        /// Its class.
        class: String,
    },
    /// A tree has no branch of this name.
    #[error("{file}: the tree '{tree}' has no branch '{branch}'{}. Correct the name.", hint(.nearest))]
    NoBranch {
        /// The file.
        file: String,
        /// Path of the tree.
        tree: String,
        /// What was asked for.
        branch: String,
        /// The closest name of a column that can be read.
        nearest: Option<String>,
    },
    /// A branch does not have one number for each event.
    #[error(
        "{file}: the branch '{branch}' of the tree '{tree}' cannot be read as a column: {reason}. Write it as a flat \
         branch, one number for each event, or as Parquet."
    )]
    NotFlat {
        /// The file.
        file: String,
        /// Path of the tree.
        tree: String,
        /// Name of the branch.
        branch: String,
        /// Why, in words.
        reason: String,
    },
    /// Filled values that ROOT has not put into bins yet.
    #[error(
        "{file}: '{path}' has {entries} entries in its buffer that are in no bin yet. \
         Call `BufferEmpty()` of the histogram before it is written."
    )]
    Buffered {
        /// The file.
        file: String,
        /// Path of the histogram.
        path: String,
        /// Number of entries.
        entries: u64,
    },
    /// More than this reader takes.
    #[error(
        "{file}: {object}: {what} is {found}, and the limit is {limit}. Split the file or the histogram."
    )]
    TooLarge {
        /// The file.
        file: String,
        /// Which part of it, in words.
        object: String,
        /// What is too large.
        what: &'static str,
        /// Its size.
        found: u64,
        /// The largest size that is read.
        limit: u64,
    },
    /// Directories contain each other.
    #[error(
        "{file}: directory '{path}' has the same list of contents as another one. The file is damaged; write it again."
    )]
    Loop {
        /// The file.
        file: String,
        /// Path of the directory.
        path: String,
    },
    /// A histogram cannot be written.
    #[error("{file}: histogram '{path}' cannot be written: {reason}")]
    NotWritable {
        /// The file.
        file: String,
        /// Path of the histogram.
        path: String,
        /// Why, with a remedy.
        reason: String,
    },
}

fn hint(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |name| format!("; the closest that exists is '{name}'"))
}
