//! An archive whose files are in memory.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::error::ArchiveError;
use super::unpack;
use crate::recognise::Format;

/// What a text that is read counts for, as a multiple of its bytes. The tree of XML needs more memory than the numbers that it
/// names, so [`ArchiveLimits::read`] is a twelfth of what its reader should reserve.
const TEXT_GROWTH: u64 = 2;

/// Largest number of names in a message.
const NAMES: usize = 100;

/// How much of an archive is unpacked and read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveLimits {
    /// Largest number of files and folders.
    pub members: usize,
    /// Largest number of bytes of all files together, unpacked.
    pub unpacked: u64,
    /// Largest number of bytes that are read from the files: histograms and columns of ROOT files as doubles, and texts with twice
    /// their length. The model, and what is made on the way to it, may need twelve times as much memory.
    pub read: u64,
}

/// The files of an archive, unpacked in memory, of which no name leads out of the archive.
#[derive(Debug)]
pub struct Archive {
    members: BTreeMap<PathBuf, Arc<[u8]>>,
    /// How much may still be read, in bytes.
    allowance: Arc<AtomicU64>,
}

impl PartialEq for Archive {
    fn eq(&self, other: &Self) -> bool {
        self.members == other.members
    }
}

impl Archive {
    /// Unpacks a tar archive, which may be compressed with gzip, or a zip archive. Any other bytes are a single file, which may be
    /// compressed with gzip too.
    ///
    /// The bytes may come from strangers: nothing is written to disk, and names that lead out of the archive, links and devices are
    /// errors.
    ///
    /// # Errors
    /// [`ArchiveError::Damaged`], [`ArchiveError::TooLarge`], [`ArchiveError::TooMany`], [`ArchiveError::Name`] and
    /// [`ArchiveError::Link`].
    pub fn unpack(bytes: &[u8], limits: ArchiveLimits) -> Result<Self, ArchiveError> {
        let members = unpack::members(bytes, limits)?;
        Ok(Self { members, allowance: Arc::new(AtomicU64::new(limits.read)) })
    }

    /// Returns the number of bytes of all files together.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.members.values().map(|bytes| bytes.len() as u64).sum()
    }

    /// Returns the file that is the model, by its name or else by the contents of all files, and what it is.
    ///
    /// # Errors
    /// [`ArchiveError::NoMember`], [`ArchiveError::NoModel`] and [`ArchiveError::Choose`].
    pub fn model(&self, name: Option<&str>) -> Result<(&Path, Format), ArchiveError> {
        let shown = |path: &Path| path.display().to_string();
        let members = || self.members.keys().take(NAMES).map(|path| shown(path)).collect();
        if let Some(name) = name {
            let found = inside(Path::new(name)).and_then(|path| self.members.get_key_value(&path));
            let Some((path, bytes)) = found else {
                return Err(ArchiveError::NoMember { name: cut(name), members: members() });
            };
            return Ok((path, Format::of(bytes)));
        }
        let models = self.members.iter().filter(|(path, _)| !is_aside(path));
        let mut models = models.filter_map(|(path, bytes)| Some((path.as_path(), model_format(bytes)?)));
        let Some(first) = models.next() else { return Err(ArchiveError::NoModel { members: members() }) };
        let others: Vec<String> = models.take(NAMES).map(|(path, _)| shown(path)).collect();
        if others.is_empty() {
            return Ok(first);
        }
        let candidates = std::iter::once(shown(first.0)).chain(others).collect();
        Err(ArchiveError::Choose { candidates })
    }

    /// Returns the bytes of a file.
    #[must_use]
    pub fn bytes_of(&self, path: &Path) -> Option<&[u8]> {
        self.get(path).map(AsRef::as_ref)
    }

    pub(super) fn get(&self, path: &Path) -> Option<&Arc<[u8]>> {
        self.members.get(&inside(path)?)
    }

    /// Returns a copy of the bytes of a text, which counts as read.
    pub(super) fn text(&self, path: &Path, bytes: &[u8]) -> Result<Vec<u8>, ArchiveError> {
        let memory = (bytes.len() as u64).saturating_mul(TEXT_GROWTH);
        let taken = self
            .allowance
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(memory));
        match taken {
            Ok(_) => Ok(bytes.to_vec()),
            Err(_) => Err(ArchiveError::LongText { name: cut(&path.display().to_string()) }),
        }
    }

    pub(super) fn allowance(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.allowance)
    }

    /// Returns the names of the files and folders in a folder, each once.
    pub(super) fn children(&self, folder: &Path) -> Vec<String> {
        let Some(folder) = inside(folder) else { return Vec::new() };
        let below = self.members.keys().filter_map(|path| path.strip_prefix(&folder).ok());
        let mut names: Vec<String> =
            below.filter_map(|path| path.iter().next()?.to_str().map(str::to_owned)).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Returns whether there is a file or a folder with this name.
    pub(super) fn exists(&self, path: &Path) -> bool {
        inside(path).is_some_and(|path| self.members.keys().any(|known| known.starts_with(&path)))
    }
}

/// Returns a path without `.` and `..`. `None` if it leads out of the archive or begins at the root.
pub(super) fn inside(path: &Path) -> Option<PathBuf> {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => out.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !out.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(out)
}

/// Cuts a long name, for messages.
pub(super) fn cut(name: &str) -> String {
    const LONGEST: usize = 200;
    name.chars().take(LONGEST).collect()
}

/// Whether a file is one that macOS adds beside each file of an archive.
fn is_aside(path: &Path) -> bool {
    let starts = |part: &std::ffi::OsStr| {
        part == "__MACOSX" || part.to_str().is_some_and(|name| name.starts_with("._"))
    };
    path.iter().any(starts)
}

/// Returns the format of a file that is a model by itself.
fn model_format(bytes: &[u8]) -> Option<Format> {
    #[derive(Deserialize)]
    struct Keys {
        channels: Option<IgnoredAny>,
        distributions: Option<IgnoredAny>,
    }
    let format = Format::of(bytes);
    let is_model = match format {
        Format::Datacard | Format::Trex | Format::Cabinetry => true,
        // The other files of HistFactory describe a channel.
        Format::Xml => bytes.windows(12).any(|window| window == b"<Combination"),
        Format::Json => serde_json::from_slice::<Keys>(bytes)
            .is_ok_and(|keys| keys.channels.is_some() || keys.distributions.is_some()),
        _ => false,
    };
    is_model.then_some(format)
}
