//! Unpacks archives in memory, within limits.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use tar::EntryType;
use zip::ZipArchive;
use zip::result::ZipError;

use super::archive::{ArchiveLimits, cut, inside};
use super::error::ArchiveError;
use super::member::Member;
use crate::pyhf::{Bounded, is_tar};

/// First bytes of gzip and of zip archives; the last ones are those of an empty zip archive.
pub(super) const GZIP: &[u8] = &[0x1f, 0x8b];
const ZIP: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];
/// Size of the header of a tar archive.
const HEADER: usize = 512;
/// Longest name of a file in bytes, and its largest number of folders.
const LONGEST_NAME: usize = 1024;
const DEEPEST: usize = 32;
/// Name of a single file that has no name.
const SINGLE: &str = "model";

type Members = BTreeMap<PathBuf, Member>;

/// Returns the files of an archive by their names, or the single file that the bytes are, and how many bytes may still be
/// unpacked.
pub(super) fn members(bytes: &[u8], limits: ArchiveLimits) -> Result<(Members, u64), ArchiveError> {
    let mut out = Unpacked { members: Members::new(), seen: 0, left: limits.unpacked, limits };
    if ZIP.iter().any(|start| bytes.starts_with(start)) {
        out.zip(bytes)?;
    } else if bytes.starts_with(GZIP) {
        out.gzip(bytes)?;
    } else if bytes.get(..HEADER).is_some_and(is_tar) {
        out.tar(bytes)?;
    } else {
        out.file(Path::new(SINGLE), bytes)?;
    }
    Ok((out.members, out.left))
}

/// The files so far.
struct Unpacked {
    members: Members,
    /// Number of files and folders so far.
    seen: usize,
    /// How many bytes may still be unpacked.
    left: u64,
    limits: ArchiveLimits,
}

impl Unpacked {
    fn zip(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(damaged)?;
        for i in 0..archive.len() {
            let name = archive.name_for_index(i).unwrap_or_default().to_owned();
            let entry = archive.by_index(i).map_err(|error| match error {
                ZipError::UnsupportedArchive(_)
                | ZipError::InvalidPassword
                | ZipError::CompressionMethodNotSupported(_) => {
                    ArchiveError::Method { name: cut(&name), reason: error.to_string() }
                }
                other => damaged(other),
            })?;
            // Some programs for Windows write backslashes.
            let name = entry.name().replace('\\', "/");
            if entry.is_symlink() {
                return Err(ArchiveError::Link { name: cut(&name), what: "a link" });
            }
            let is_folder = entry.is_dir();
            let path = self.named(&name)?;
            if !is_folder {
                self.file(&path, entry)?;
            }
        }
        Ok(())
    }

    /// Reads a tar archive, or a single file, that is compressed with gzip.
    fn gzip(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        let (limit, exceeded) = (self.limits.unpacked, Cell::new(false));
        let mut stream = Bounded::new(MultiGzDecoder::new(bytes), limit, &exceeded);
        let mut head = Vec::with_capacity(HEADER);
        let mut read = stream.by_ref().take(HEADER as u64).read_to_end(&mut head).map(drop).map_err(damaged);
        if read.is_ok() {
            let whole = Cursor::new(&head).chain(stream);
            read = if head.len() == HEADER && is_tar(&head) {
                self.tar(whole)
            } else {
                self.file(Path::new(SINGLE), whole).map(drop)
            };
        }
        if exceeded.get() { Err(ArchiveError::TooLarge { limit }) } else { read }
    }

    fn tar(&mut self, reader: impl Read) -> Result<(), ArchiveError> {
        let mut archive = tar::Archive::new(reader);
        for entry in archive.entries().map_err(damaged)? {
            let entry = entry.map_err(damaged)?;
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let what = match entry.header().entry_type() {
                EntryType::Regular | EntryType::Continuous | EntryType::Directory => None,
                // Settings for all that follows, of which names and sizes are read by the crate.
                EntryType::XGlobalHeader => continue,
                EntryType::Link | EntryType::Symlink => Some("a link"),
                EntryType::Fifo => Some("a pipe"),
                EntryType::Char | EntryType::Block => Some("a device"),
                _ => Some("something that is neither file nor folder"),
            };
            if let Some(what) = what {
                return Err(ArchiveError::Link { name: cut(&name), what });
            }
            let path = self.named(&name)?;
            if entry.header().entry_type() != EntryType::Directory {
                let size = entry.size();
                let read = self.file(&path, entry)?;
                if read != size {
                    return Err(damaged("it ends too early"));
                }
            }
        }
        Ok(())
    }

    /// Checks the name of a file or a folder, which is counted.
    fn named(&mut self, name: &str) -> Result<PathBuf, ArchiveError> {
        self.seen += 1;
        if self.seen > self.limits.members {
            return Err(ArchiveError::TooMany { limit: self.limits.members });
        }
        let wrong = |reason| Err(ArchiveError::Name { name: cut(name), reason });
        let path = Path::new(name);
        if name.len() > LONGEST_NAME || path.components().count() > DEEPEST {
            return wrong("is too long, or too deep in folders");
        }
        if name.contains('\0') {
            return wrong("contains a character that no file has");
        }
        if path.has_root() || name.get(1..3) == Some(":/") {
            return wrong("begins at the root of the system");
        }
        if path.components().any(|part| part == std::path::Component::ParentDir) {
            return wrong("contains '..'");
        }
        match inside(path) {
            Some(path) => Ok(path),
            None => wrong("leads out of the archive"),
        }
    }

    /// Reads a file. Returns the number of bytes of the reader.
    fn file(&mut self, path: &Path, reader: impl Read) -> Result<u64, ArchiveError> {
        let limit = self.limits.unpacked;
        let mut bytes = Vec::new();
        reader.take(self.left.saturating_add(1)).read_to_end(&mut bytes).map_err(damaged)?;
        let size = bytes.len() as u64;
        self.left = self.left.checked_sub(size).ok_or(ArchiveError::TooLarge { limit })?;
        // As with tar, the last of several files of one name is the file.
        self.members.insert(path.to_owned(), Member::new(bytes));
        Ok(size)
    }
}

pub(super) fn damaged(reason: impl std::fmt::Display) -> ArchiveError {
    ArchiveError::Damaged { reason: cut(&reason.to_string()) }
}
