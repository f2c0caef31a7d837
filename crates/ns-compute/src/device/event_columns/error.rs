//! Errors of uploads of events.

use ns_core::SessionError;
use thiserror::Error;

/// Why events do not reach the device. `E` is the error of the file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UploadError<E: std::error::Error + 'static> {
    /// The file cannot be decoded.
    #[error(transparent)]
    File(E),
    /// The device fails, or has too little memory.
    #[error(transparent)]
    Device(#[from] SessionError),
    /// Bounds are not a pair per column.
    #[error(
        "{actual} bounds are given for {expected} columns; give a pair per column, with infinities where there is none"
    )]
    Bounds {
        /// Number of pairs.
        actual: usize,
        /// Number of columns.
        expected: usize,
    },
    /// A lower bound is not below the upper one.
    #[error("the bounds of column '{column}' are {lower} and {upper}; give the lower one first")]
    EmptyBounds {
        /// Name of the column.
        column: String,
        /// Lower bound.
        lower: f64,
        /// Upper bound.
        upper: f64,
    },
    /// A single group of rows does not fit into the memory of the host that may be used.
    #[error(
        "a row group of {rows} rows needs {needed} bytes of memory of the host, and {limit} may be used; raise the limit, or \
         write the file with smaller row groups"
    )]
    HostMemory {
        /// Rows of the largest group.
        rows: usize,
        /// Bytes that it needs.
        needed: usize,
        /// Bytes that may be used.
        limit: usize,
    },
}
