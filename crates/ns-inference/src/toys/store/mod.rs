//! Stores toys in Parquet files. A file has one row per toy. Its header contains everything on which the numbers of
//! the toys depend.
//!
//! A run writes its rows to several files, called pieces, and combines the pieces to one file at the end
//! ([`ToyDestination`], [`Recording`]). If the run is killed, all files on the disk are therefore complete, and a later
//! run can continue with the missing toys. [`ToySet`] reads the files of several shards together.

mod column;
mod error;
mod folder;
mod kind;
mod ranges;
mod reader;
mod recording;
mod run;
mod set;
mod writer;

pub(crate) use column::{Content, Spec, Value};
pub use error::{ForeignFile, StoreError};
pub(crate) use folder::Folder;
pub use kind::StoredRow;
pub use ranges::Ranges;
pub use recording::{Recording, ToyDestination};
pub use run::{SavedRun, SavedRunError, Saving, run_saved};
pub use set::ToySet;
pub use writer::FORMAT;
pub(crate) use writer::Table;

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests;
