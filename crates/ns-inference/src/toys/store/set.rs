//! Reads several files with toys of the same run as one set.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::error::StoreError;
use super::folder;
use super::kind::StoredRow;
use super::ranges::Ranges;
use super::reader::Reader;
use super::recording::foreign;

/// A file of a set of files, and the ranges of toys that the file contains.
struct Member {
    path: PathBuf,
    there: Vec<Ranges>,
}

impl Member {
    /// Returns the index of the first toy of a series in the file; `None` if the file has no toy of this series. A
    /// series is the toys of one hypothesis, or of a study. `stream` is the number of the series.
    fn first(&self, stream: usize) -> Option<u64> {
        self.there.get(stream)?.as_slice().first().map(|range| range.start)
    }
}

/// Files with toys of one run. The files have been checked: they are compatible, and no toy is in two of them.
pub struct ToySet<R: StoredRow> {
    header: R::Header,
    members: Vec<Member>,
    there: Vec<Ranges>,
    interrupted: Vec<PathBuf>,
}

impl<R: StoredRow> ToySet<R> {
    /// Opens files, checks each file, and compares the files with each other. If a run did not finish its file, the
    /// pieces (small files with the toys saved until then) are read instead.
    ///
    /// # Errors
    /// If a file cannot be read, is damaged, or belongs to a run other than that of the first file. Also if two files
    /// contain the same toys.
    pub fn open(paths: &[PathBuf]) -> Result<Self, StoreError> {
        let mut set: Option<Self> = None;
        for path in paths {
            let pieces = folder::pieces_of(path);
            if !path.exists() && pieces.is_dir() {
                for piece in folder::pieces(&pieces)? {
                    Self::add(&mut set, &piece)?;
                }
                if let Some(set) = &mut set {
                    set.interrupted.push(path.clone());
                }
            } else {
                Self::add(&mut set, path)?;
            }
        }
        set.ok_or_else(|| StoreError::Incomplete { missing: "all: none of the files has any".to_owned() })
    }

    /// Checks the file at `path` and adds it to the set. The first file creates the set.
    fn add(set: &mut Option<Self>, path: &Path) -> Result<(), StoreError> {
        let reader = Reader::<R>::open(path)?;
        let header = reader.header.clone();
        let set = set.get_or_insert_with(|| Self {
            header: header.clone(),
            members: Vec::new(),
            there: vec![Ranges::default(); R::SERIES.len()],
            interrupted: Vec::new(),
        });
        if let Some(first) = set.members.first() {
            let than = first.path.display().to_string();
            foreign(path, &than, "leave one of the two out", R::compatible(&set.header, &header))?;
        }
        let there = reader.rows(|_| Ok::<_, StoreError>(()))?;
        for (stream, ranges) in there.iter().enumerate() {
            for member in &set.members {
                if let Some(twice) = member.there.get(stream).and_then(|theirs| theirs.common(ranges)) {
                    return Err(StoreError::Overlap {
                        one: member.path.clone(),
                        other: path.to_owned(),
                        stream: R::NAMES.get(stream).copied().unwrap_or("?"),
                        first: twice.start,
                        last: twice.end.saturating_sub(1),
                    });
                }
            }
            if let Some(all) = set.there.get_mut(stream) {
                all.merge(ranges);
            }
        }
        set.members.push(Member { path: path.to_owned(), there });
        Ok(())
    }

    /// Returns the header of the first file. The shard in this header is that of the first file.
    pub fn header(&self) -> &R::Header {
        &self.header
    }

    /// Returns the files whose runs were not finished.
    pub fn interrupted(&self) -> &[PathBuf] {
        &self.interrupted
    }

    /// Returns a description of the toys of the run that no file of the set contains; `None` if no toy is missing.
    pub fn missing(&self) -> Option<String> {
        let whole = 0..R::origin(&self.header).n_toys;
        let mut words: Vec<String> = Vec::new();
        for (name, ranges) in R::NAMES.iter().zip(&self.there) {
            let gaps = ranges.missing(whole.clone());
            let gaps: Vec<String> = gaps.iter().map(in_words).collect();
            if !gaps.is_empty() {
                words.push(format!("of {name} {}", gaps.join(", ")));
            }
        }
        (!words.is_empty()).then(|| words.join("; "))
    }

    /// Reads the rows of all toys and passes them to `take`. The rows are ordered by series (the toys of one
    /// hypothesis, or of a study), then by the index of the toy.
    ///
    /// # Errors
    /// If a file can no longer be read; also the errors of `take`.
    pub fn rows<E: From<StoreError>>(&self, mut take: impl FnMut(&[R]) -> Result<(), E>) -> Result<(), E> {
        for stream in 0..R::SERIES.len() {
            let mut with: Vec<(u64, &Member)> =
                self.members.iter().filter_map(|m| Some((m.first(stream)?, m))).collect();
            with.sort_by_key(|(first, _)| *first);
            for (_, member) in with {
                Reader::<R>::open(&member.path)?.rows(|mut rows| {
                    rows.retain(|row| row.stream() == stream);
                    take(&rows)
                })?;
            }
        }
        Ok(())
    }
}

/// Formats a range of indices. The text contains the first and the last index.
fn in_words(range: &Range<u64>) -> String {
    match range.end - range.start {
        1 => range.start.to_string(),
        _ => format!("{} to {}", range.start, range.end - 1),
    }
}
