//! Saves a run while it is running, and continues a run that was interrupted.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::error::{ForeignFile, StoreError};
use super::folder::{self, Folder};
use super::kind::StoredRow;
use super::ranges::Ranges;
use super::reader::Reader;
use super::writer::Writer;
use crate::InferenceError;

/// Default time after which a piece is written. A piece is a file with the rows that were added since the previous
/// piece was written. If a run is killed, the toys that are not yet in a piece are lost.
const PIECE_TIME: Duration = Duration::from_secs(2);

/// Number of added rows after which a piece (a file with these rows) is written.
const PIECE_ROWS: usize = 1 << 17;

/// A file path that is reserved for one run. The path is reserved before the first fit, so that a wrong path is
/// reported before time is spent on fits.
pub struct ToyDestination {
    folder: Folder,
    resume: bool,
}

impl ToyDestination {
    /// Reserves the path `target` for a run. The file itself does not change before [`Recording::finish`].
    ///
    /// # Errors
    /// If the file cannot be written, if another run is writing it, or if an earlier run exists and `resume` is
    /// false.
    pub fn claim(target: impl AsRef<Path>, resume: bool) -> Result<Self, StoreError> {
        Ok(Self { folder: Folder::claim(target.as_ref(), resume)?, resume })
    }

    /// Begins to save the run with the header `header`. If `resume` was true in [`Self::claim`], an earlier run is
    /// continued.
    ///
    /// # Errors
    /// If an earlier run cannot be read or differs from this run.
    pub fn begin<R: StoredRow>(self, header: &R::Header) -> Result<Recording<R>, StoreError> {
        let mut recording = Recording {
            folder: self.folder,
            header: header.clone(),
            there: vec![Ranges::default(); R::SERIES.len()],
            pieces: Vec::new(),
            finished: false,
            waiting: Vec::new(),
            since: Instant::now(),
            last: Instant::now(),
            every: PIECE_TIME,
        };
        if self.resume {
            recording.take_over(header)?;
        }
        Ok(recording)
    }
}

/// A finished piece, i.e. a file with part of the rows of a run: the index of its series, the index of its first toy,
/// and its path.
struct Piece {
    stream: usize,
    first: u64,
    path: PathBuf,
}

/// A run that is being saved.
pub struct Recording<R: StoredRow> {
    folder: Folder,
    header: R::Header,
    there: Vec<Ranges>,
    pieces: Vec<Piece>,
    /// Whether the complete file exists.
    finished: bool,
    waiting: Vec<R>,
    /// Time at which the last piece was written, or at which saving began.
    since: Instant,
    /// Time at which rows were added last.
    last: Instant,
    every: Duration,
}

impl<R: StoredRow> Recording<R> {
    /// Reads the complete file or the pieces that an earlier run has written, so that this run can be continued.
    fn take_over(&mut self, header: &R::Header) -> Result<(), StoreError> {
        if self.folder.target.is_file() {
            let reader = Reader::<R>::open(&self.folder.target)?;
            same_run::<R>(&self.folder.target, header, &reader.header)?;
            self.header = reader.header.clone();
            self.there = reader.rows(|_| Ok::<_, StoreError>(()))?;
            if !self.missing().is_empty() {
                let reason = "it lacks toys of its shard".to_owned();
                return Err(StoreError::Damaged { path: self.folder.target.clone(), reason });
            }
            self.finished = true;
            // If a run was killed after it had written the complete file, there are still pieces.
            return self.folder.clear();
        }
        for path in self.folder.pieces()? {
            let reader = Reader::<R>::open(&path)?;
            same_run::<R>(&path, header, &reader.header)?;
            if self.pieces.is_empty() {
                self.header = reader.header.clone();
            }
            let there = reader.rows(|_| Ok::<_, StoreError>(()))?;
            let damaged =
                |reason: &str| StoreError::Damaged { path: path.clone(), reason: reason.to_owned() };
            let mut found =
                there.iter().enumerate().flat_map(|(s, r)| r.as_slice().iter().map(move |r| (s, r)));
            let (Some((stream, range)), None) = (found.next(), found.next()) else {
                return Err(damaged("a piece holds one range of toys"));
            };
            let (first, found) = (range.start, there.get(stream).cloned().unwrap_or_default());
            let Some(all) = self.there.get_mut(stream) else { continue };
            if all.common(&found).is_some() {
                return Err(damaged("another piece has some of its toys too"));
            }
            all.merge(&found);
            self.pieces.push(Piece { stream, first, path });
        }
        Ok(())
    }

    /// Sets the time after which a piece (a file with the rows added since the last piece) is written. Results do not
    /// depend on this time.
    pub fn set_every(&mut self, time: Duration) {
        self.every = time;
    }

    /// Returns the header of the rows. If an earlier run is continued, it is the header of the earlier run.
    pub fn header(&self) -> &R::Header {
        &self.header
    }

    /// Returns the number of saved toys, including those of an earlier run.
    pub fn n_there(&self) -> u64 {
        self.there.iter().map(Ranges::count).sum()
    }

    /// Returns the toys of the shard that have not been saved. Each entry is a series and a range of indices of toys,
    /// in ascending order.
    pub fn missing(&self) -> Vec<(R::Series, Range<u64>)> {
        let whole = R::origin(&self.header).shard.range(R::origin(&self.header).n_toys);
        let gaps = R::SERIES.iter().zip(&self.there);
        gaps.flat_map(|(series, ranges)| {
            ranges.missing(whole.clone()).into_iter().map(move |range| (*series, range))
        })
        .collect()
    }

    /// Adds rows to the run. Writes a piece, i.e. a file with all rows added since the last piece, if two seconds have
    /// passed since then. Another time can be set with [`Self::set_every`].
    ///
    /// # Errors
    /// If a piece cannot be written.
    pub fn add(&mut self, rows: &[R]) -> Result<(), StoreError> {
        for row in rows {
            let follows =
                |last: &R| (row.stream(), row.index()) == (last.stream(), last.index().wrapping_add(1));
            if self.waiting.last().is_some_and(|last| !follows(last)) || self.waiting.len() >= PIECE_ROWS {
                self.flush()?;
            }
            self.waiting.push(row.clone());
        }
        // The next rows are assumed to take about as much time as these rows.
        let ahead = self.last.elapsed();
        self.last = Instant::now();
        if self.since.elapsed() + ahead >= self.every { self.flush() } else { Ok(()) }
    }

    /// Writes a piece, i.e. a file with all rows that have been added since the last piece was written.
    ///
    /// # Errors
    /// If the piece cannot be written.
    pub fn flush(&mut self) -> Result<(), StoreError> {
        self.since = Instant::now();
        let Some(row) = self.waiting.first() else { return Ok(()) };
        let (stream, first) = (row.stream(), row.index());
        let path = self.folder.piece(stream, first, |to| {
            let mut writer = Writer::new::<R>(to, &self.header)?;
            for row in &self.waiting {
                writer.push(row)?;
            }
            writer.finish()
        })?;
        let mut ranges = Ranges::default();
        self.waiting.iter().for_each(|row| ranges.push(row.index()));
        if let Some(all) = self.there.get_mut(stream) {
            all.merge(&ranges);
        }
        self.pieces.push(Piece { stream, first, path });
        self.waiting.clear();
        Ok(())
    }

    /// Combines all pieces into the file and removes the pieces. Passes all rows of the run to `take`, in order. If
    /// toys are missing because the run was interrupted, no file is written, and the pieces are kept.
    ///
    /// # Errors
    /// If a piece cannot be read or the file cannot be written; also the errors of `take`.
    pub fn finish<E: From<StoreError>>(
        mut self,
        mut take: impl FnMut(&[R]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.flush()?;
        if self.finished {
            return Reader::<R>::open(&self.folder.target)?.rows(|rows| take(&rows)).map(|_| ());
        }
        self.pieces.sort_by_key(|piece| (piece.stream, piece.first));
        if !self.missing().is_empty() {
            for piece in &self.pieces {
                Reader::<R>::open(&piece.path)?.rows(|rows| take(&rows))?;
            }
            return Ok(());
        }
        let target = &self.folder.target;
        self.folder.combined(|to| {
            let mut writer =
                Writer::new::<R>(to, &self.header).map_err(|error| folder::written(target, error))?;
            for piece in &self.pieces {
                Reader::<R>::open(&piece.path)?.rows(|rows| {
                    for row in &rows {
                        writer.push(row).map_err(|error| folder::written(target, error))?;
                    }
                    take(&rows)
                })?;
            }
            Ok::<_, E>(writer.finish().map_err(|error| folder::written(target, error))?)
        })?;
        Ok(self.folder.clear()?)
    }
}

/// Returns an error unless an existing file or piece belongs to this run and to the same shard.
fn same_run<R: StoredRow>(path: &Path, ours: &R::Header, theirs: &R::Header) -> Result<(), StoreError> {
    let (here, there) = (R::origin(ours).shard, R::origin(theirs).shard);
    let same = R::compatible(ours, theirs).and_then(|()| {
        let (ours, theirs) = (here.to_string(), there.to_string());
        if here == there {
            Ok(())
        } else {
            Err(InferenceError::ForeignToys { what: "the shard".to_owned(), ours, theirs })
        }
    });
    foreign(path, "this one", "remove it, or choose another name", same)
}

/// Converts the error for two incompatible headers to an error that names the file.
pub(super) fn foreign(
    path: &Path,
    than: &str,
    remedy: &'static str,
    compatible: Result<(), InferenceError>,
) -> Result<(), StoreError> {
    let Err(error) = compatible else { return Ok(()) };
    let (what, ours, theirs) = match error {
        InferenceError::ForeignToys { what, ours, theirs } => (what, ours, theirs),
        other => (other.to_string(), "not so".to_owned(), "so".to_owned()),
    };
    let (path, than) = (path.to_owned(), than.to_owned());
    Err(Box::new(ForeignFile { path, than, what, theirs, ours, remedy }).into())
}
