//! Errors of uploads of events.

use ns_core::SessionError;
use thiserror::Error;

/// Reasons why events cannot be copied to a device. `E` is the error type of the file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UploadError<E: std::error::Error + 'static> {
    /// The file cannot be decoded.
    #[error(transparent)]
    File(E),
    /// The device fails, or has too little memory.
    #[error(transparent)]
    Device(#[from] SessionError),
    /// The number of pairs of bounds is not the number of columns.
    #[error(
        "{actual} bounds are given for {expected} columns; give a pair per column, with infinities where there is none"
    )]
    Bounds {
        /// Number of pairs that were given.
        actual: usize,
        /// Number of columns.
        expected: usize,
    },
    /// A lower bound is above its upper bound, or a bound is NaN.
    #[error("the bounds of column '{column}' are {lower} and {upper}; give the lower one first")]
    EmptyBounds {
        /// Name of the column.
        column: String,
        /// Lower bound.
        lower: f64,
        /// Upper bound.
        upper: f64,
    },
    /// The largest group of rows needs more host memory than is allowed.
    #[error(
        "a row group of {rows} rows needs {needed} bytes of memory of the host, and {limit} may be used; raise the limit, or \
         write the file with smaller row groups"
    )]
    HostMemory {
        /// Number of rows of the largest group.
        rows: usize,
        /// Number of bytes that this group needs.
        needed: usize,
        /// Number of bytes that may be used.
        limit: usize,
    },
}
