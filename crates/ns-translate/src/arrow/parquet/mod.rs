//! Events from Parquet files.
//!
//! [`read_parquet_events_soa`] reads some columns of a file, and of these the rows that a selection keeps. Row
//! groups and pages that the selection drops as a whole, by their statistics, are not decoded. `file` opens a
//! file and finds its columns, `prune` compares conditions with statistics, `decode` makes numbers of one column
//! of one row group, and `read` does so for all of them, on one or several threads.

mod decode;
mod error;
mod file;
mod options;
mod prune;
mod read;

pub use error::ParquetReadError;
pub use options::{Comparison, Condition, ParquetOptions};
pub use read::read_parquet_events_soa;
