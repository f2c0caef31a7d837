//! [`RowGroups`]: a table of events in a file that is decoded one group of rows at a time.

/// A table of events in a file. Several threads can decode its groups of rows at the same time. Code that
/// copies events to another place, such as a GPU, uses this trait to keep only a part of the table in memory.
pub trait RowGroups: Sync {
    /// Reason why a column cannot be decoded.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Returns the names of the columns that are read.
    fn names(&self) -> &[String];

    /// Returns the number of rows of each group.
    fn groups(&self) -> &[usize];

    /// Writes the numbers of the column with the index `column` in the group of rows with the index `group` to `out`,
    /// which has one element per row of the group.
    ///
    /// # Errors
    /// If the file cannot be read, or has a row without a number.
    fn decode(&self, group: usize, column: usize, out: &mut [f64]) -> Result<(), Self::Error>;
}
