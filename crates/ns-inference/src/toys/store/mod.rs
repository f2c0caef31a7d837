//! Toys in Parquet files: one row per toy, and a header with everything that the numbers depend on.
//!
//! A run writes finished pieces as it goes and combines them at the end ([`ToyDestination`], [`Recording`]), so that
//! whenever it is killed, everything on the disk is whole, and a later run continues with what is missing.
//! [`ToySet`] reads the files of several shards together.

mod column;
mod error;
mod folder;
mod kind;
mod ranges;
mod reader;
mod recording;
mod set;
mod writer;

pub use error::{ForeignFile, StoreError};
pub use kind::StoredRow;
pub use ranges::Ranges;
pub use recording::{Recording, ToyDestination};
pub use set::ToySet;
pub use writer::FORMAT;

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests;
