//! Errors of uploads of events.

use ns_core::SessionError;
use thiserror::Error;

/// Reasons why events cannot be copied to a device. `E` is the error type of the file format.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UploadError<E: std::error::Error + 'static> {
    /// The file cannot be read or decoded.
    #[error(transparent)]
    File(E),
    /// The device failed, or its memory is too small.
    #[error(transparent)]
    Device(#[from] SessionError),
    /// The number of pairs of bounds (lower, upper) differs from the number of columns.
    #[error(
        "{actual} bounds are given for {expected} columns; give a pair per column, with infinities where there is none"
    )]
    Bounds {
        /// Number of pairs of bounds that were given.
        actual: usize,
        /// Number of columns, which is the number of pairs that are needed.
        expected: usize,
    },
    /// The lower bound of a column is above its upper bound, or a bound is NaN.
    #[error("the bounds of column '{column}' are {lower} and {upper}; give the lower one first")]
    EmptyBounds {
        /// Name of the column whose bounds are invalid.
        column: String,
        /// Lower bound of the column.
        lower: f64,
        /// Upper bound of the column.
        upper: f64,
    },
    /// The largest group of rows in the file needs more host memory than the options allow.
    #[error(
        "a row group of {rows} rows needs {needed} bytes of memory of the host, and {limit} may be used; raise the limit, or \
         write the file with smaller row groups"
    )]
    HostMemory {
        /// Number of rows in the largest group.
        rows: usize,
        /// Number of bytes of host memory that this group needs.
        needed: usize,
        /// Number of bytes of host memory that may be used.
        limit: usize,
    },
}
