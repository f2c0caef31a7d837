//! The file of a grid: rows are saved while the grid runs, and an interrupted run is continued.
//!
//! The file is JSON. It is written as a whole every two seconds, under another name, and then moved to its place. So it
//! is complete at any time, whatever ends the run.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::{GridPoint, GridRow, GridStatus};
use crate::toys::store::{Folder, ForeignFile, StoreError};

/// Version of the format of the file.
const FORMAT: u32 = 1;

/// Time after which finished rows are written.
const EVERY: Duration = Duration::from_secs(2);

/// Everything but the patches on which the rows of a grid depend: the version of the program, the digest of the
/// background, and the settings. Rows are taken over only from a file with the same entries.
pub type GridHeader = BTreeMap<String, Value>;

/// The contents of a file.
#[derive(Debug, Serialize, Deserialize)]
struct Contents {
    format: u32,
    kind: String,
    header: GridHeader,
    rows: Vec<GridRow>,
}

/// The value of `kind` in a file.
const KIND: &str = "upper-limit grid";

/// Why the file of a grid cannot be read, written or used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GridFileError {
    /// The file cannot be read or written, is there already, belongs to another run, or is in use.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file has other contents.
    #[error("{}: not the file of a grid: {reason}; name a file that --save of a grid wrote", path.display())]
    OtherContents {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with its contents.
        reason: String,
    },
    /// Another version of the program wrote the file.
    #[error("{}: grid file format {found}; this version reads format {FORMAT}: use the version that wrote it", path.display())]
    OtherFormat {
        /// Path of the file.
        path: PathBuf,
        /// Format of the file.
        found: u32,
    },
}

impl GridFileError {
    /// Returns whether the cause is a failure of the machine, such as a full disk. Otherwise it is a wrong request.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_failure())
    }
}

/// A path that is reserved for the file of a grid, before any work is done.
pub struct GridFile {
    folder: Folder,
    resume: bool,
}

impl GridFile {
    /// Reserves the path `target`. During the run there is a folder `target.parts` beside the file.
    ///
    /// # Errors
    /// If the file cannot be written, another run writes it, or it is there already and `resume` is false.
    pub fn claim(target: impl AsRef<Path>, resume: bool) -> Result<Self, GridFileError> {
        Ok(Self { folder: Folder::claim(target.as_ref(), resume)?, resume })
    }

    /// Begins to save the rows of `points`. Takes over rows of an earlier run: those of points with the same name,
    /// values and digest that are done. Failed points are tried again.
    ///
    /// # Errors
    /// If the file of the earlier run cannot be read, or differs in an entry of the header.
    pub fn begin(self, header: GridHeader, points: &[GridPoint]) -> Result<GridRecording, GridFileError> {
        let path = &self.folder.target;
        let mut earlier = Vec::new();
        if self.resume && path.is_file() {
            earlier = read(path, &header)?;
        }
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
        let rows = earlier;
        Ok(GridRecording { folder: self.folder, header, rows, taken, unsaved: 0, last: Instant::now() })
    }
}

/// A grid that is being saved.
pub struct GridRecording {
    folder: Folder,
    header: GridHeader,
    rows: Vec<GridRow>,
    taken: Vec<(usize, GridRow)>,
    unsaved: usize,
    last: Instant,
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
    pub fn add(&mut self, row: &GridRow) -> Result<(), GridFileError> {
        self.rows.push(row.clone());
        self.unsaved += 1;
        if self.last.elapsed() >= EVERY { self.write() } else { Ok(()) }
    }

    /// Writes the rows that have not been written yet.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(mut self) -> Result<(), GridFileError> {
        if self.unsaved > 0 || !self.folder.target.exists() { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), GridFileError> {
        let contents = Contents {
            format: FORMAT,
            kind: KIND.to_owned(),
            header: self.header.clone(),
            rows: std::mem::take(&mut self.rows),
        };
        let path = self.folder.target.clone();
        let failed = |source| StoreError::Io { path: path.clone(), doing: "cannot be written", source };
        let written = self.folder.combined(|mut to| {
            let lines = lines(&contents).map_err(|error| failed(error.into()))?;
            to.write_all(&lines).map_err(failed)?;
            Ok::<_, StoreError>(to)
        });
        self.rows = contents.rows;
        self.unsaved = 0;
        self.last = Instant::now();
        Ok(written?)
    }
}

/// Returns the text of a file, with one line per row.
fn lines(contents: &Contents) -> serde_json::Result<Vec<u8>> {
    let mut text = format!("{{\n  \"format\": {},\n  \"kind\": ", contents.format).into_bytes();
    serde_json::to_writer(&mut text, &contents.kind)?;
    text.extend_from_slice(b",\n  \"header\": ");
    serde_json::to_writer(&mut text, &contents.header)?;
    text.extend_from_slice(b",\n  \"rows\": [");
    for (i, row) in contents.rows.iter().enumerate() {
        text.extend_from_slice(if i == 0 { b"\n    " } else { b",\n    " });
        serde_json::to_writer(&mut text, row)?;
    }
    text.extend_from_slice(b"\n  ]\n}\n");
    Ok(text)
}

/// Reads the rows of an earlier run.
///
/// # Errors
/// If the file cannot be read, has other contents, or an entry of its header differs from `ours`.
fn read(path: &Path, ours: &GridHeader) -> Result<Vec<GridRow>, GridFileError> {
    let failed = |source| StoreError::Io { path: path.to_owned(), doing: "cannot be read", source };
    let other = |reason: String| GridFileError::OtherContents { path: path.to_owned(), reason };
    let text = std::fs::read(path).map_err(failed)?;
    let value: Value = serde_json::from_slice(&text).map_err(|error| other(error.to_string()))?;
    if value.get("kind").and_then(Value::as_str) != Some(KIND) {
        return Err(other(format!("its \"kind\" is not \"{KIND}\"")));
    }
    let format = value.get("format").and_then(Value::as_u64).and_then(|format| u32::try_from(format).ok());
    if format != Some(FORMAT) {
        let found = format.unwrap_or_default();
        return Err(GridFileError::OtherFormat { path: path.to_owned(), found });
    }
    // Read as text again, because a tree does not keep the order of labels.
    drop(value);
    let contents: Contents = serde_json::from_slice(&text).map_err(|error| other(error.to_string()))?;
    let theirs = &contents.header;
    for key in ours.keys().chain(theirs.keys()) {
        let (mine, there) = (ours.get(key), theirs.get(key));
        if mine != there {
            let shown =
                |value: Option<&Value>| value.map_or_else(|| "not given".to_owned(), Value::to_string);
            return Err(StoreError::Foreign(Box::new(ForeignFile {
                path: path.to_owned(),
                than: "this one".to_owned(),
                what: key.clone(),
                theirs: shown(there),
                ours: shown(mine),
                remedy: "run it as before, or choose another file",
            }))
            .into());
        }
    }
    Ok(contents.rows)
}
