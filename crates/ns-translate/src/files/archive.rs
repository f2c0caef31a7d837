//! An archive whose files are in memory.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::error::ArchiveError;
use super::member::Member;
use super::unpack;

/// What a text that is read counts for, as a multiple of its bytes. The tree of XML needs more memory than the numbers that it
/// names, so [`ArchiveLimits::read`] is a twelfth of what its reader should reserve.
const TEXT_GROWTH: u64 = 2;

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

/// The files of an archive in memory, of which no name leads out of the archive. Files that are compressed again are unpacked
/// when they are read.
#[derive(Debug)]
pub struct Archive {
    members: BTreeMap<PathBuf, Member>,
    /// Largest number of bytes of all files together, unpacked, and how many are left of it.
    limit: u64,
    left: AtomicU64,
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
        let (members, left) = unpack::members(bytes, limits)?;
        let (limit, left) = (limits.unpacked, AtomicU64::new(left));
        Ok(Self { members, limit, left, allowance: Arc::new(AtomicU64::new(limits.read)) })
    }

    /// Returns the number of bytes that are held of all files together.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.members.values().map(Member::len).sum()
    }

    /// Returns the content of a file; `None` if there is no such file, or it cannot be unpacked.
    #[must_use]
    pub fn bytes_of(&self, path: &Path) -> Option<&[u8]> {
        self.get(path)?.ok().map(AsRef::as_ref)
    }

    /// Returns the content of a file, if there is one with this path.
    pub(super) fn get(&self, path: &Path) -> Option<Result<&Arc<[u8]>, ArchiveError>> {
        self.members.get(&inside(path)?).map(|member| self.content(member))
    }

    /// Returns the content of one of the files.
    ///
    /// # Errors
    /// [`ArchiveError::Damaged`] and [`ArchiveError::TooLarge`] for a compressed file.
    pub(crate) fn content<'a>(&self, member: &'a Member) -> Result<&'a Arc<[u8]>, ArchiveError> {
        member.content(&self.left, self.limit)
    }

    /// Returns the files by their paths.
    pub(crate) fn members(&self) -> &BTreeMap<PathBuf, Member> {
        &self.members
    }

    /// Returns whether there is a file with this path.
    pub(super) fn has(&self, path: &Path) -> bool {
        inside(path).is_some_and(|path| self.members.contains_key(&path))
    }

    /// Returns a copy of the bytes of a text, which counts as read.
    pub(super) fn text(&self, path: &Path, bytes: &[u8]) -> Result<Vec<u8>, ArchiveError> {
        if self.charge((bytes.len() as u64).saturating_mul(TEXT_GROWTH)) {
            Ok(bytes.to_vec())
        } else {
            Err(ArchiveError::LongText { name: cut(&path.display().to_string()) })
        }
    }

    /// Counts bytes as read. Returns false, and counts nothing, if fewer may still be read.
    pub(super) fn charge(&self, bytes: u64) -> bool {
        let update = |left: u64| left.checked_sub(bytes);
        self.allowance.fetch_update(Ordering::Relaxed, Ordering::Relaxed, update).is_ok()
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
pub(crate) fn inside(path: &Path) -> Option<PathBuf> {
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
pub(crate) fn cut(name: &str) -> String {
    const LONGEST: usize = 200;
    name.chars().take(LONGEST).collect()
}
