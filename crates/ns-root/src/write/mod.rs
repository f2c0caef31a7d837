//! Writes histograms of one dimension into a new ROOT file.

mod bytes;
mod histogram;
mod layout;
mod streamers;

use std::collections::BTreeMap;
use std::path::Path;

use crate::error::RootError;
use crate::histogram::Histogram;

/// Longest name or title of an object in bytes. The length of a key has 16 bits.
const LONGEST_TEXT: usize = 8000;
/// Largest file. Positions have 31 bits.
const LARGEST_FILE: usize = 2_000_000_000;

/// Histograms that become a ROOT file.
///
/// The same histograms always give the same bytes; the file says no time of writing. ROOT 6 and uproot read it. Contents are
/// written as `TH1D`; those of a histogram of class `TH1F` as `TH1F`.
#[derive(Debug, Clone, Default)]
pub struct HistogramFile {
    top: Folder,
    count: usize,
}

/// A directory: its histograms and directories in the order in which they were added.
#[derive(Debug, Clone, Default)]
struct Folder {
    histograms: Vec<Histogram>,
    folders: Vec<(String, Folder)>,
    names: BTreeMap<String, usize>,
}

/// Whether objects are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// As they are.
    None,
    /// With zlib, which every version of ROOT reads.
    #[default]
    Zlib,
}

impl HistogramFile {
    /// A file without histograms.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether there are no histograms.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a histogram. `path` has the names of directories, separated by `/`, and the name of the histogram,
    /// which replaces the histogram's own.
    ///
    /// # Errors
    /// [`RootError::NotWritable`] if the histogram has two dimensions, if the path is in use, or if a name is empty or too long.
    pub fn add(&mut self, path: &str, histogram: &Histogram) -> Result<(), RootError> {
        let refused = |reason: String| RootError::NotWritable {
            file: "new ROOT file".to_owned(),
            path: path.to_owned(),
            reason,
        };
        if histogram.axes.len() != 1 {
            return Err(refused("it has two dimensions. Give a histogram of one.".to_owned()));
        }
        let mut names: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let name = names.pop().unwrap_or_default();
        if name.is_empty() || names.contains(&"") {
            return Err(refused("a name in its path is empty. Give every part a name.".to_owned()));
        }
        let texts = names.iter().copied().chain([name, &histogram.title]);
        if texts.map(str::len).max().unwrap_or(0) > LONGEST_TEXT {
            return Err(refused(format!("a name or title has more than {LONGEST_TEXT} bytes. Shorten it.")));
        }
        let mut folder = &mut self.top;
        for part in names {
            folder = match folder.below(part) {
                Some(below) => below,
                None => return Err(refused(format!("'{part}' is a histogram. Rename one of the two."))),
            };
        }
        if folder.names.contains_key(name) {
            return Err(refused("its path is in use. Rename one of the two.".to_owned()));
        }
        folder.names.insert(name.to_owned(), usize::MAX);
        let mut own = histogram.clone();
        name.clone_into(&mut own.name);
        folder.histograms.push(own);
        self.count += 1;
        Ok(())
    }

    /// The bytes of the file. `name` is the name that the file says of itself.
    ///
    /// # Errors
    /// [`RootError::TooLarge`] above 2 GB.
    pub fn to_bytes(&self, name: &str, compression: Compression) -> Result<Vec<u8>, RootError> {
        let name = name.get(..name.len().min(LONGEST_TEXT)).unwrap_or("histograms.root");
        let out = layout::file(&self.top, name, compression);
        if out.len() > LARGEST_FILE {
            return Err(RootError::TooLarge {
                file: name.to_owned(),
                object: "the file".to_owned(),
                what: "its size",
                found: out.len() as u64,
                limit: LARGEST_FILE as u64,
            });
        }
        Ok(out)
    }

    /// Writes the file.
    ///
    /// # Errors
    /// [`RootError::Write`] and those of [`Self::to_bytes`].
    pub fn write(&self, path: impl AsRef<Path>, compression: Compression) -> Result<(), RootError> {
        let path = path.as_ref();
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let bytes = self.to_bytes(&name, compression)?;
        std::fs::write(path, bytes)
            .map_err(|source| RootError::Write { file: path.display().to_string(), source })
    }
}

impl Folder {
    /// The directory of a name, which is made if there is none; nothing if the name is that of a histogram.
    fn below(&mut self, name: &str) -> Option<&mut Folder> {
        let next = self.folders.len();
        let i = *self.names.entry(name.to_owned()).or_insert(next);
        if i == next {
            self.folders.push((name.to_owned(), Folder::default()));
        }
        self.folders.get_mut(i).map(|(_, folder)| folder)
    }
}
