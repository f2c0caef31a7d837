//! Errors of reading events from Parquet files.

use std::path::PathBuf;

use ns_core::plain;
use thiserror::Error;

use crate::pyhf::names::{list, nearest, quoted};

/// Reasons why events cannot be read from a Parquet file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ParquetReadError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The file is not a Parquet file, or is damaged.
    #[error("{} cannot be read as a Parquet file: {}. Check that it is complete, and write it again.", path.display(), plain(reason))]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A column does not exist.
    #[error("{} has no column {}.{} {}", path.display(), quoted(column), meant(column, available), list("Its columns are", available))]
    NoSuchColumn {
        /// The file.
        path: PathBuf,
        /// Name of the requested column.
        column: String,
        /// Names of the columns of the file.
        available: Vec<String>,
    },
    /// The values of a column are lists, structures or maps.
    #[error(
        "column {} of {} is nested: it has {what} per row, not a number. Write a column with one number per event, \
         for example of the leading object.",
        quoted(column), path.display()
    )]
    Nested {
        /// The file.
        path: PathBuf,
        /// Name of the column.
        column: String,
        /// Description of a row of the column, for example "a list".
        what: &'static str,
    },
    /// The values of a column are not numbers.
    #[error(
        "column {} of {} has {found}, not numbers. Write it as float, double, integer or boolean numbers, or leave \
         it out.",
        quoted(column), path.display()
    )]
    NotNumbers {
        /// The file.
        path: PathBuf,
        /// Name of the column.
        column: String,
        /// Type of the column's values.
        found: String,
    },
    /// The compression of a column is not supported.
    #[error(
        "column {} of {} is compressed with {compression}, which is not supported. Write the file again with \
         another compression, for example pyarrow.parquet.write_table(table, path, compression='zstd').",
        quoted(column), path.display()
    )]
    Compression {
        /// The file.
        path: PathBuf,
        /// Name of the column.
        column: String,
        /// Name of the compression.
        compression: &'static str,
    },
    /// A row has no value (null) in a column.
    #[error(
        "column {} of {} has no number (null) in row {row}. Drop such rows with a condition on the column, or fill \
         them when the file is written.",
        quoted(column), path.display()
    )]
    Null {
        /// The file.
        path: PathBuf,
        /// Name of the column.
        column: String,
        /// Index of the first row without a value, counted from 0.
        row: u64,
    },
    /// An integer cannot be represented exactly by a 64-bit floating-point number.
    #[error(
        "column {} of {} has an integer above 2^53 in row {row}, which a 64-bit floating-point number cannot hold. \
         Is it a label rather than an observable? Leave the column out.",
        quoted(column), path.display()
    )]
    Inexact {
        /// The file.
        path: PathBuf,
        /// Name of the column.
        column: String,
        /// Index of the first row with an integer that cannot be represented exactly, counted from 0.
        row: u64,
    },
}

/// Returns a question such as "Did you mean 'x'?" with the available name that is most similar to `name`; an empty
/// string if no name is similar.
fn meant(name: &str, available: &[String]) -> String {
    let near = nearest(name, available.iter().map(String::as_str));
    near.map_or_else(String::new, |near| format!(" Did you mean {}?", quoted(near)))
}
