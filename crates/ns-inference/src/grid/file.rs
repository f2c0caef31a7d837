//! The file of a grid: rows are saved while the grid runs, and an interrupted run is continued.

use std::path::Path;

use super::{GridPoint, GridRow, GridStatus};
use crate::row_file::{RowFile, RowFileError, RowHeader, RowRecording, SavedRow};

impl SavedRow for GridRow {
    const KIND: &'static str = "upper-limit grid";
    const OF: &'static str = "a grid";
}

/// A path that is reserved for the file of a grid, before any work is done.
pub struct GridFile(RowFile);

impl GridFile {
    /// Reserves the path `target`. During the run there is a folder `target.parts` beside the file.
    ///
    /// # Errors
    /// If the file cannot be written, another run writes it, or it is there already and `resume` is false.
    pub fn claim(target: impl AsRef<Path>, resume: bool) -> Result<Self, RowFileError> {
        Ok(Self(RowFile::claim(target, resume)?))
    }

    /// Begins to save the rows of `points`. Takes over rows of an earlier run: those of points with the same name,
    /// values and digest that are done. Failed points are tried again.
    ///
    /// # Errors
    /// If the file of the earlier run cannot be read, or differs in an entry of the header.
    pub fn begin(self, header: RowHeader, points: &[GridPoint]) -> Result<GridRecording, RowFileError> {
        let (mut recording, mut earlier) = self.0.begin::<GridRow>(header)?;
        let is_row = |row: &GridRow, point: &GridPoint| {
            row.name == point.name && row.values == point.values && row.patch_digest == point.digest
        };
        earlier.retain(|row| row.status == GridStatus::Done);
        let taken = points
            .iter()
            .enumerate()
            .filter_map(|(i, point)| Some((i, earlier.iter().find(|row| is_row(row, point))?.clone())))
            .collect();
        // Rows of other points stay in the file: a run with other --names may need them.
        earlier.retain(|row| !points.iter().any(|point| point.name == row.name && !is_row(row, point)));
        recording.keep(earlier);
        Ok(GridRecording { recording, taken })
    }
}

/// A grid that is being saved.
pub struct GridRecording {
    recording: RowRecording<GridRow>,
    taken: Vec<(usize, GridRow)>,
}

impl GridRecording {
    /// Returns the rows of an earlier run with the indices of their points.
    #[must_use]
    pub fn taken(&self) -> &[(usize, GridRow)] {
        &self.taken
    }

    /// Adds a row. Writes the file if two seconds have passed since it was last written.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn add(&mut self, row: &GridRow) -> Result<(), RowFileError> {
        self.recording.add(row.clone())
    }

    /// Writes the rows that have not been written yet.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(self) -> Result<(), RowFileError> {
        self.recording.finish()
    }
}
