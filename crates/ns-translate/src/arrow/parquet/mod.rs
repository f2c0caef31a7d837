//! Events from Parquet files.
//!
//! [`read_parquet_events_soa`] reads selected columns and rows of a file. A row group or page is not decoded
//! if its statistics show that the selection keeps none of its rows. The module `file` opens a file and finds
//! its columns. `prune` compares conditions with statistics. `decode` converts one column of one row group to
//! numbers. `read` does this for all columns and row groups, on one or several threads.

mod decode;
mod error;
mod file;
mod groups;
mod options;
mod prune;
mod read;

pub use error::ParquetReadError;
pub use groups::ParquetGroups;
pub use options::{Comparison, Condition, ParquetOptions};
pub use read::read_parquet_events_soa;
