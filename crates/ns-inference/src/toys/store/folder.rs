//! The folder `FILE.parts/`, which contains the finished pieces of the file `FILE` while a run is being saved.
//!
//! Every piece is written under a temporary name in this folder, flushed to the disk and then moved to its final path
//! in one step. The complete file is written in the same way. A file with a final name is therefore complete, even if
//! a run is killed.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use tempfile::{Builder, NamedTempFile};

use super::error::StoreError;

/// Prefix of the temporary names of files that are being written.
const PASSING: &str = ".writing-";

/// Prefix of the names of pieces, which are files with part of the rows of a run.
const PIECE: &str = "piece-";

/// Name of the file that a run locks while it uses the folder.
const LOCK: &str = "lock";

/// Largest number of attempts to create and lock the folder. An attempt fails if another process removes the folder
/// after it was created and before it is locked.
const ATTEMPTS: usize = 16;

/// A folder with the finished pieces of a file. The folder is locked, so that only this process may change it.
pub(crate) struct Folder {
    /// Path of the file into which the pieces will be combined.
    pub(crate) target: PathBuf,
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Creates and locks the folder for the pieces of `target`. Removes incomplete files that a killed run has left.
    ///
    /// # Errors
    /// If the folder cannot be created, if another run is using the folder, or if an earlier run exists and `resume`
    /// is false.
    pub(crate) fn claim(target: &Path, resume: bool) -> Result<Self, StoreError> {
        let target = settle(target)?;
        let path = pieces_of(&target);
        for _ in 0..ATTEMPTS {
            if !resume && target.exists() {
                return Err(StoreError::AlreadyThere { found: target });
            }
            match fs::create_dir(&path) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists || !path.is_dir() => {
                    return Err(StoreError::Io { path, doing: "cannot make this folder", source: error });
                }
                _ => {}
            }
            // Between any two of these steps another run may finish and remove the folder.
            let Some(lock) = lock(&target, &path)? else { continue };
            let folder = Self { target, path, _lock: lock };
            if !resume && folder.target.exists() {
                return Err(StoreError::AlreadyThere { found: folder.target.clone() });
            }
            if !resume && !folder.pieces()?.is_empty() {
                return Err(StoreError::AlreadyThere { found: folder.path.clone() });
            }
            for name in names(&folder.path)? {
                if name.to_string_lossy().starts_with(PASSING) {
                    let passing = folder.path.join(name);
                    fs::remove_file(&passing).map_err(|source| StoreError::Io {
                        path: passing,
                        doing: "cannot be removed",
                        source,
                    })?;
                }
            }
            return Ok(folder);
        }
        Err(StoreError::Busy { path: target })
    }

    /// Returns the paths of the finished pieces.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub(super) fn pieces(&self) -> Result<Vec<PathBuf>, StoreError> {
        pieces(&self.path)
    }

    /// Writes a piece and returns its path. `stream` is the index of the series of toys (in a hypothesis test, each
    /// hypothesis is a series), and `first` is the index of the first toy in the piece.
    ///
    /// # Errors
    /// If the piece cannot be written.
    pub(super) fn piece(
        &self,
        stream: usize,
        first: u64,
        write: impl FnOnce(BufWriter<File>) -> Result<BufWriter<File>, ParquetError>,
    ) -> Result<PathBuf, StoreError> {
        let path = self.path.join(format!("{PIECE}{stream}-{first:012}.parquet"));
        self.whole(&path, |to| write(to).map_err(|error| written(&path, error)))?;
        Ok(path)
    }

    /// Writes the complete file. `write` writes the rows of all pieces to it.
    ///
    /// # Errors
    /// If the file cannot be written; also the errors of `write`.
    pub(crate) fn combined<E: From<StoreError>>(
        &self,
        write: impl FnOnce(BufWriter<File>) -> Result<BufWriter<File>, E>,
    ) -> Result<(), E> {
        self.whole(&self.target, write)
    }

    /// Writes a file under a temporary name, flushes it to the disk and moves it to the path `to`.
    fn whole<E: From<StoreError>>(
        &self,
        to: &Path,
        write: impl FnOnce(BufWriter<File>) -> Result<BufWriter<File>, E>,
    ) -> Result<(), E> {
        let failed = |source| StoreError::Io { path: to.to_owned(), doing: "cannot be written", source };
        let passing = self.passing().map_err(failed)?;
        let handle = passing.as_file().try_clone().map_err(failed)?;
        let mut writer = write(BufWriter::new(handle))?;
        writer.flush().map_err(failed)?;
        writer.get_ref().sync_all().map_err(failed)?;
        drop(writer);
        passing.persist(to).map_err(|error| failed(error.error))?;
        if let Some(parent) = to.parent() {
            settle_names(parent);
        }
        Ok(())
    }

    /// Creates a file with a temporary name and the permissions of an ordinary new file.
    fn passing(&self) -> std::io::Result<NamedTempFile> {
        let mut builder = Builder::new();
        builder.prefix(PASSING);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        builder.tempfile_in(&self.path)
    }

    /// Removes the pieces. It must be called after the complete file has been moved to its path. The empty folder is
    /// removed on drop.
    ///
    /// # Errors
    /// If a piece cannot be removed.
    pub(super) fn clear(&self) -> Result<(), StoreError> {
        for piece in self.pieces()? {
            fs::remove_file(&piece).map_err(|source| StoreError::Io {
                path: piece,
                doing: "cannot be removed",
                source,
            })?;
        }
        Ok(())
    }
}

impl Drop for Folder {
    /// Removes the folder if it contains no pieces. Errors are ignored, because a later run can remove the folder.
    fn drop(&mut self) {
        if self.pieces().is_ok_and(|pieces| pieces.is_empty()) {
            let _ = fs::remove_file(self.path.join(LOCK));
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// Returns the path of the folder for the pieces of the file `target`.
pub(super) fn pieces_of(target: &Path) -> PathBuf {
    let mut name: OsString = target.as_os_str().to_owned();
    name.push(".parts");
    PathBuf::from(name)
}

/// Returns the paths of the finished pieces in a folder, in the order of their names.
///
/// # Errors
/// If the folder cannot be read.
pub(super) fn pieces(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut list: Vec<PathBuf> = names(folder)?
        .into_iter()
        .filter(|name| {
            let name = name.to_string_lossy();
            name.starts_with(PIECE) && name.ends_with(".parquet")
        })
        .map(|name| folder.join(name))
        .collect();
    list.sort();
    Ok(list)
}

/// Converts an error of the Parquet library that occurred while the file `path` was written. The new error contains
/// this path.
pub(super) fn written(path: &Path, error: ParquetError) -> StoreError {
    let source = match error {
        ParquetError::External(inner) => match inner.downcast::<std::io::Error>() {
            Ok(source) => *source,
            Err(other) => std::io::Error::other(other.to_string()),
        },
        other => std::io::Error::other(other.to_string()),
    };
    StoreError::Io { path: path.to_owned(), doing: "cannot be written", source }
}

fn names(folder: &Path) -> Result<Vec<OsString>, StoreError> {
    let failed = |source| StoreError::Io { path: folder.to_owned(), doing: "cannot be read", source };
    fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.file_name())).collect())
        .map_err(failed)
}

/// Returns the path to which a file is written. Symbolic links are followed: if `target` is a link, the file that it
/// points to is replaced.
fn settle(target: &Path) -> Result<PathBuf, StoreError> {
    let failed = |kind: ErrorKind, why: String| StoreError::Io {
        path: target.to_owned(),
        doing: "cannot be written",
        source: std::io::Error::new(kind, why),
    };
    match fs::metadata(target) {
        Ok(found) if found.is_dir() => Err(failed(ErrorKind::IsADirectory, "it is a folder".to_owned())),
        Ok(found) if !found.is_file() => {
            Err(failed(ErrorKind::NotADirectory, "it is no regular file; choose another name".to_owned()))
        }
        Ok(_) => Ok(fs::canonicalize(target).unwrap_or_else(|_| target.to_owned())),
        Err(_) => {
            let folder = target.parent().filter(|parent| !parent.as_os_str().is_empty());
            match folder {
                Some(folder) if !folder.exists() => Err(failed(
                    ErrorKind::NotFound,
                    format!("the folder {} does not exist", folder.display()),
                )),
                _ => Ok(target.to_owned()),
            }
        }
    }
}

/// Locks a folder. Returns `None` if another process has removed the folder.
fn lock(target: &Path, folder: &Path) -> Result<Option<File>, StoreError> {
    let path = folder.join(LOCK);
    let failed = |source| StoreError::Io { path: path.clone(), doing: "cannot be locked", source };
    let file = match File::options().create(true).truncate(false).write(true).open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(StoreError::Busy { path: target.to_owned() }),
        // Some file systems of clusters have no locks. They report this with different errors. On such systems, users
        // must ensure that only one run writes a file.
        Err(TryLockError::Error(_)) => {}
    }
    Ok(is_at(&file, &path).then_some(file))
}

/// Returns whether `path` still refers to the open file `file`.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// Returns whether `path` exists. On systems other than Unix an open file cannot be removed, so an existing path still
/// refers to the open file.
#[cfg(not(unix))]
fn is_at(_file: &File, path: &Path) -> bool {
    path.exists()
}

/// Flushes the directory entries of a folder to the disk if the system supports this.
fn settle_names(folder: &Path) {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if let Ok(handle) = File::open(folder) {
        let _ = handle.sync_all();
    }
}
