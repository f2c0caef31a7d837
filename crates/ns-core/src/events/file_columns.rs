//! Columns of events that were read from a file.

use std::sync::Arc;

/// Columns of events that were read from a Parquet file, one array per column.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ParquetEventData {
    /// Names of the columns, in the order in which they were requested.
    pub names: Vec<String>,
    /// One array per name, all of the same length: one number per event that the selection keeps.
    pub columns: Vec<Arc<[f64]>>,
    /// Number of rows of the file, including rows that the selection drops.
    pub rows: u64,
    /// Number of rows that were never decoded, because statistics of the file show that the selection drops
    /// them.
    pub skipped: u64,
}

impl ParquetEventData {
    /// Returns the number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |column| column.len())
    }

    /// Returns whether there is no event.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the column with the given name; `None` if there is no such column.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Arc<[f64]>> {
        self.names.iter().position(|known| known == name).and_then(|i| self.columns.get(i))
    }
}
