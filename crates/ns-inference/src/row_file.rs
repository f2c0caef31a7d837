//! Files of finished pieces of an analysis, one row each. Rows are saved while the analysis runs, and an interrupted analysis
//! is continued.
//!
//! The file is JSON. It is written as a whole every two seconds, under another name, and then moved to its place. So it
//! is complete at any time, whatever ends the run.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::toys::store::{Folder, ForeignFile, StoreError};

/// Version of the format of the file.
const FORMAT: u32 = 1;

/// Time after which finished rows are written.
const EVERY: Duration = Duration::from_secs(2);

/// Everything on which the rows of a file depend, apart from what the rows contain themselves: for example the version of the
/// program, the digest of the model, and the settings. Rows are taken over only from a file with the same entries.
pub type RowHeader = BTreeMap<String, Value>;

/// A row of a file: a finished piece of an analysis.
pub trait SavedRow: Serialize + DeserializeOwned {
    /// The value of `kind` in a file.
    const KIND: &'static str;
    /// What the file belongs to, in words for messages, for example "a grid".
    const OF: &'static str;
}

/// The contents of a file.
#[derive(Debug, Serialize, Deserialize)]
struct Contents<R> {
    format: u32,
    kind: String,
    header: RowHeader,
    rows: Vec<R>,
}

/// Why a file of rows cannot be read, written or used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RowFileError {
    /// The file cannot be read or written, is there already, belongs to another run, or is in use.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file has other contents.
    #[error("{}: not the file of {of}: {reason}; name a file that --save of {of} wrote", path.display())]
    OtherContents {
        /// Path of the file.
        path: PathBuf,
        /// What the file should belong to.
        of: &'static str,
        /// What is wrong with its contents.
        reason: String,
    },
    /// Another version of the program wrote the file.
    #[error("{}: file of {of} in format {found}; this version reads format {FORMAT}: use the version that wrote it", path.display())]
    OtherFormat {
        /// Path of the file.
        path: PathBuf,
        /// What the file belongs to.
        of: &'static str,
        /// Format of the file.
        found: u32,
    },
}

impl RowFileError {
    /// Returns whether the cause is a failure of the machine, such as a full disk. Otherwise it is a wrong request.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_failure())
    }
}

/// A path that is reserved for a file of rows, before any work is done.
pub struct RowFile {
    folder: Folder,
    resume: bool,
}

impl RowFile {
    /// Reserves the path `target`. During the run there is a folder `target.parts` beside the file.
    ///
    /// # Errors
    /// If the file cannot be written, another run writes it, or it is there already and `resume` is false.
    pub fn claim(target: impl AsRef<Path>, resume: bool) -> Result<Self, RowFileError> {
        Ok(Self { folder: Folder::claim(target.as_ref(), resume)?, resume })
    }

    /// Begins to save rows. Returns the recording, which has no rows yet, and the rows of an earlier run.
    ///
    /// # Errors
    /// If the file of the earlier run cannot be read, or differs in an entry of the header.
    pub fn begin<R: SavedRow>(self, header: RowHeader) -> Result<(RowRecording<R>, Vec<R>), RowFileError> {
        let path = &self.folder.target;
        let earlier = if self.resume && path.is_file() { read(path, &header)? } else { Vec::new() };
        let (rows, unsaved, last) = (Vec::new(), 0, Instant::now());
        Ok((RowRecording { folder: self.folder, header, rows, unsaved, last }, earlier))
    }
}

/// A file of rows that is being written.
pub struct RowRecording<R> {
    folder: Folder,
    header: RowHeader,
    rows: Vec<R>,
    unsaved: usize,
    last: Instant,
}

impl<R: SavedRow> RowRecording<R> {
    /// Sets the rows that the file contains from the beginning, such as those of an earlier run.
    pub fn keep(&mut self, rows: Vec<R>) {
        self.rows = rows;
    }

    /// Adds a row. Writes the file if two seconds have passed since it was last written.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn add(&mut self, row: R) -> Result<(), RowFileError> {
        self.rows.push(row);
        self.unsaved += 1;
        if self.last.elapsed() >= EVERY { self.write() } else { Ok(()) }
    }

    /// Writes the rows that have not been written yet.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(mut self) -> Result<(), RowFileError> {
        if self.unsaved > 0 || !self.folder.target.exists() { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), RowFileError> {
        let contents = Contents {
            format: FORMAT,
            kind: R::KIND.to_owned(),
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
fn lines<R: SavedRow>(contents: &Contents<R>) -> serde_json::Result<Vec<u8>> {
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
fn read<R: SavedRow>(path: &Path, ours: &RowHeader) -> Result<Vec<R>, RowFileError> {
    let failed = |source| StoreError::Io { path: path.to_owned(), doing: "cannot be read", source };
    let other = |reason: String| RowFileError::OtherContents { path: path.to_owned(), of: R::OF, reason };
    let text = std::fs::read(path).map_err(failed)?;
    let value: Value = serde_json::from_slice(&text).map_err(|error| other(error.to_string()))?;
    if value.get("kind").and_then(Value::as_str) != Some(R::KIND) {
        return Err(other(format!("its \"kind\" is not \"{}\"", R::KIND)));
    }
    let format = value.get("format").and_then(Value::as_u64).and_then(|format| u32::try_from(format).ok());
    if format != Some(FORMAT) {
        let found = format.unwrap_or_default();
        return Err(RowFileError::OtherFormat { path: path.to_owned(), of: R::OF, found });
    }
    // Read as text again, because a tree does not keep the order of labels.
    drop(value);
    let contents: Contents<R> = serde_json::from_slice(&text).map_err(|error| other(error.to_string()))?;
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
