//! Where the files of a model are: on disk, or in an archive that was unpacked in memory.
//!
//! XML of HistFactory, datacards and configurations name other files. They are all read through [`Files`], so a model in an archive
//! reaches the files of the archive and nothing else.

mod archive;
mod error;
mod member;
mod unpack;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ns_root::{RootError, RootFile};

pub use archive::{Archive, ArchiveLimits};
pub(crate) use archive::{cut, inside};
pub use error::ArchiveError;
pub(crate) use member::Member;

use crate::pyhf::{WorkspaceError, read_file};

/// Where the files of a model are.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Files {
    /// On disk.
    #[default]
    Disk,
    /// In an archive. Paths begin in it, and none leads out of it.
    Packed(Arc<Archive>),
}

/// A folder in which relative paths begin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Folder<'a> {
    pub(crate) files: &'a Files,
    pub(crate) path: &'a Path,
}

impl Files {
    /// Whether there is a file with this path.
    pub(crate) fn is_file(&self, path: &Path) -> bool {
        match self {
            Self::Disk => path.is_file(),
            Self::Packed(archive) => archive.has(path),
        }
    }

    /// Whether there is a file or a folder with this path.
    pub(crate) fn exists(&self, path: &Path) -> bool {
        match self {
            Self::Disk => path.exists(),
            Self::Packed(archive) => archive.exists(path),
        }
    }

    /// Reads a text, unpacked if it is compressed with gzip.
    pub(crate) fn text(&self, path: &Path) -> Result<Vec<u8>, WorkspaceError> {
        match self {
            Self::Disk => read_file(path),
            Self::Packed(archive) => {
                let missing = || WorkspaceError::Io { path: path.to_owned(), source: missing() };
                let bytes = archive.get(path).ok_or_else(missing)??;
                Ok(archive.text(path, bytes)?)
            }
        }
    }

    /// Counts memory, in bytes, as read. Returns false if an archive may need no more.
    pub(crate) fn charge(&self, bytes: u64) -> bool {
        match self {
            Self::Disk => true,
            Self::Packed(archive) => archive.charge(bytes),
        }
    }

    /// Opens a ROOT file.
    pub(crate) fn root(&self, path: &Path) -> Result<RootFile, RootError> {
        match self {
            Self::Disk => RootFile::open(path),
            Self::Packed(archive) => {
                let file = path.display().to_string();
                match archive.get(path) {
                    None => Err(RootError::Read { file, source: missing() }),
                    Some(Err(error)) => Err(RootError::Read { file, source: io::Error::other(error) }),
                    Some(Ok(bytes)) => {
                        let root = RootFile::from_bytes(&file, Arc::clone(bytes))?;
                        Ok(root.with_allowance(archive.allowance()))
                    }
                }
            }
        }
    }

    /// Whether a file is a ROOT file.
    pub(crate) fn is_root(&self, path: &Path) -> io::Result<bool> {
        match self {
            Self::Disk => {
                let mut start = [0; 4];
                File::open(path)?.read_exact(&mut start)?;
                Ok(RootFile::is_root(&start))
            }
            Self::Packed(archive) => {
                let bytes = archive.get(path).ok_or_else(missing)?.map_err(io::Error::other)?;
                Ok(RootFile::is_root(bytes))
            }
        }
    }

    /// Returns the names of the files and folders in a folder.
    pub(crate) fn children(&self, folder: &Path) -> Vec<String> {
        match self {
            Self::Disk => {
                let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
                let entries = std::fs::read_dir(here).into_iter().flatten().flatten();
                entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
            }
            Self::Packed(archive) => archive.children(folder),
        }
    }

    /// Returns the folder of a file.
    pub(crate) fn folder_of(&self, path: &Path) -> PathBuf {
        let path = match self {
            Self::Disk => crate::pyhf::file_of(path),
            Self::Packed(_) => path,
        };
        path.parent().map(Path::to_path_buf).unwrap_or_default()
    }
}

fn missing() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "there is no such file in the archive")
}
