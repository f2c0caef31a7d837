//! [`RowGroups`]: a file of events that is decoded piece by piece.

/// A table of events in a file that is decoded group of rows by group of rows, by several threads. What copies events
/// elsewhere, such as to a GPU, uses it, so that the whole table is never in memory.
pub trait RowGroups: Sync {
    /// Why a column cannot be decoded.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Returns the names of the columns that are read.
    fn names(&self) -> &[String];

    /// Returns the number of rows of each group.
    fn groups(&self) -> &[usize];

    /// Writes the numbers of a column in a group to `out`, which has one element per row of the group.
    ///
    /// # Errors
    /// If the file cannot be read, or has a row without a number.
    fn decode(&self, group: usize, column: usize, out: &mut [f64]) -> Result<(), Self::Error>;
}
