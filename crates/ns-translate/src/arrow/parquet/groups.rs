//! A Parquet file whose row groups are decoded one by one. The whole file is never in memory.

use std::path::Path;

use ns_core::RowGroups;

use super::decode::decode;
use super::error::ParquetReadError;
use super::file::{Column, Open};
use super::read::failed;

/// Some columns of an open Parquet file. The row groups of the file can be decoded one by one, by any thread.
///
/// Decoding one column of a row group needs memory for the compressed bytes of this column in addition to the
/// numbers.
pub struct ParquetGroups {
    open: Open,
    columns: Vec<Column>,
    names: Vec<String>,
    /// Number of rows of each row group.
    groups: Vec<usize>,
    /// For each row group, the index of its first row in the file.
    first: Vec<u64>,
}

impl ParquetGroups {
    /// Opens a file. `columns` are the names of the columns to read, in this order; `None` stands for all
    /// columns.
    ///
    /// # Errors
    /// If the file cannot be read or is damaged; if a column does not exist, is nested, or has no numbers.
    pub fn open(path: &Path, columns: Option<&[String]>) -> Result<Self, ParquetReadError> {
        let open = Open::new(path, false)?;
        let names = columns.map_or_else(|| open.names(), <[String]>::to_vec);
        let columns = names.iter().map(|name| open.column(name)).collect::<Result<Vec<_>, _>>()?;
        let groups: Vec<usize> =
            open.contents.row_groups().iter().map(|g| usize::try_from(g.num_rows()).unwrap_or(0)).collect();
        let mut next = 0;
        let mut first = Vec::with_capacity(groups.len());
        for rows in &groups {
            first.push(next);
            next += *rows as u64;
        }
        Ok(Self { open, columns, names, groups, first })
    }
}

impl std::fmt::Debug for ParquetGroups {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetGroups")
            .field("path", &self.open.path)
            .field("names", &self.names)
            .field("groups", &self.groups.len())
            .finish_non_exhaustive()
    }
}

impl RowGroups for ParquetGroups {
    type Error = ParquetReadError;

    fn names(&self) -> &[String] {
        &self.names
    }

    fn groups(&self) -> &[usize] {
        &self.groups
    }

    fn decode(&self, group: usize, column: usize, out: &mut [f64]) -> Result<(), ParquetReadError> {
        let (Some(column), Some(first)) = (self.columns.get(column), self.first.get(group)) else {
            let (path, reason) = (self.open.path.clone(), format!("it has no row group {group}"));
            return Err(ParquetReadError::Broken { path, reason });
        };
        let rows = 0..out.len();
        if rows.is_empty() {
            return Ok(());
        }
        let faults = decode(&self.open, group, column, std::slice::from_ref(&rows), out)?;
        match faults.first() {
            Some((at, fault)) => Err(failed(&self.open, column, first + *at as u64, *fault)),
            None => Ok(()),
        }
    }
}
