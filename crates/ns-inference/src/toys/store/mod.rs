//! Stores toys in Parquet files: one row per toy, and a header with everything on which the numbers depend.
//!
//! A run writes its rows in pieces and combines the pieces at the end ([`ToyDestination`], [`Recording`]). So all
//! files on the disk are complete whenever the run is killed, and a later run continues with the missing toys.
//! [`ToySet`] reads the files of several shards together.

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

pub use error::{ForeignFile, StoreError};
pub use kind::StoredRow;
pub use ranges::Ranges;
pub use recording::{Recording, ToyDestination};
pub use run::{SavedRun, SavedRunError, Saving, run_saved};
pub use set::ToySet;
pub use writer::FORMAT;

#[cfg(test)]
#[allow(clippy::indexing_slicing)]
mod tests;
