//! A body that has arrived, and its memory.

use axum::body::Bytes;

use crate::memory::Reserved;

/// A body that has arrived, with the memory that is reserved for it.
#[derive(Debug)]
pub(crate) struct Received {
    /// Content of the body.
    pub(crate) bytes: Bytes,
    /// Memory of the body, and later also of what was read from it.
    pub(crate) reserved: Reserved,
}
