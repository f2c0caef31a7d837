//! A file or a member of an archive, as the user named it, and the errors of reading it.

use std::io;
use std::path::{Path, PathBuf};

use crate::pyhf::error::WorkspaceError;

/// File extensions of archives. They show which part of a path is the archive if no file with this name exists.
const ARCHIVES: [&str; 3] = [".tar.gz", ".tgz", ".tar"];

/// A file, and optionally one of its members.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileMember<'a> {
    /// The path of the file and its member as the user gave it, for messages.
    shown: &'a Path,
    file: &'a Path,
    member: Option<&'a str>,
    /// Whether the user can name a member of this file in its path. False for a stream and for an unpacked member.
    nameable: bool,
}

impl<'a> FileMember<'a> {
    /// Splits a path into file and member, at the first colon after the name of an existing file. If there is no
    /// such colon, splits it at the first colon after the extension of an archive. A path that is itself an
    /// existing file is not split.
    pub(super) fn of(path: &'a Path) -> Self {
        let whole = Self { shown: path, file: path, member: None, nameable: true };
        let Some(text) = path.to_str().filter(|_| !path.exists()) else { return whole };
        let splits = || {
            let split = |(at, _)| Some((text.get(..at)?, text.get(at + 1..)?));
            text.match_indices(':')
                .filter_map(split)
                .filter(|(file, member)| !file.is_empty() && !member.is_empty())
        };
        let there = |file: &str| Path::new(file).metadata().is_ok_and(|found| !found.is_dir());
        let archive = |file: &str| ARCHIVES.iter().any(|ending| file.ends_with(ending));
        let split =
            splits().find(|(file, _)| there(file)).or_else(|| splits().find(|(file, _)| archive(file)));
        split.map_or(whole, |(file, member)| Self { file: Path::new(file), member: Some(member), ..whole })
    }

    /// Returns the place of a stream that is not a file; `name` is its name in messages.
    pub(super) fn stream(name: &'a str) -> Self {
        Self { shown: Path::new(name), file: Path::new(name), member: None, nameable: false }
    }

    /// Returns the place of a stream with the content of this archive member. The user cannot name a member of the
    /// stream.
    pub(super) fn unpacked(self) -> Self {
        Self { member: None, nameable: false, ..self }
    }

    /// Returns the file on disk.
    pub(super) fn file(&self) -> &'a Path {
        self.file
    }

    /// Returns the name of the member, if one was named.
    pub(super) fn member(&self) -> Option<&'a str> {
        self.member
    }

    /// Builds the error for a file that cannot be read.
    pub(super) fn io(&self, source: io::Error) -> WorkspaceError {
        WorkspaceError::Io { path: self.file.to_owned(), source }
    }

    /// Returns the error for an archive, from the error `source` that reading it gave. An error of the operating
    /// system, or of a stream that is too long, means that the archive cannot be read. Any other error means that
    /// its content is not valid.
    pub(super) fn io_or_damaged(&self, source: io::Error) -> WorkspaceError {
        // The caller recognises a compressed stream that is too long by the flag of its `Bounded` reader.
        if source.raw_os_error().is_some() || source.kind() == io::ErrorKind::FileTooLarge {
            self.io(source)
        } else {
            self.damaged(source)
        }
    }

    /// Builds the error for a file that cannot be unpacked.
    pub(super) fn damaged(&self, source: io::Error) -> WorkspaceError {
        if source.raw_os_error().is_some() {
            return self.io(source);
        }
        let cut = source.kind() == io::ErrorKind::UnexpectedEof;
        WorkspaceError::Unpack {
            path: self.shown.to_owned(),
            message: if cut { "it ends too early.".to_owned() } else { format!("it is damaged ({source}).") },
            remedy: "Copy or download it again.".to_owned(),
        }
    }

    /// Builds the error for an input that is longer than a workspace can be.
    pub(super) fn too_long(&self, limit: u64) -> WorkspaceError {
        WorkspaceError::TooLong { path: self.shown.to_owned(), limit }
    }

    /// Builds the error for a file that unpacks to too many bytes.
    pub(super) fn too_large(&self, limit: u64) -> WorkspaceError {
        let size = if limit >= 1 << 30 { format!("{} GiB", limit >> 30) } else { format!("{limit} bytes") };
        WorkspaceError::Unpack {
            path: self.shown.to_owned(),
            message: format!("it unpacks to more than {size}, which is the most that is read."),
            remedy: "Check that it is what you want; if so, unpack it first.".to_owned(),
        }
    }

    /// Checks that no member was named. The check is for a file that is not an archive.
    ///
    /// # Errors
    /// [`WorkspaceError::NoArchive`] if a member was named.
    pub(super) fn must_be_whole(&self) -> Result<(), WorkspaceError> {
        let Some(member) = self.member else { return Ok(()) };
        Err(WorkspaceError::NoArchive { path: self.file.to_owned(), member: member.to_owned() })
    }

    /// Returns the error for an archive if no member is named, or if the archive does not have the named member.
    /// `members` are the names of its members.
    pub(super) fn no_member(&self, mut members: Vec<String>) -> WorkspaceError {
        let json = |name: &String| name.ends_with(".json") || name.ends_with(".json.gz");
        // For each file, macOS adds a file whose name begins with `._` in the same folder.
        let aside = |name: &String| name.rsplit('/').next().is_some_and(|file| file.starts_with("._"));
        members.retain(|name| !aside(name));
        if members.iter().any(json) {
            members.retain(json);
        }
        members.sort();
        let archive = PathBuf::from(if self.nameable { self.file } else { self.shown });
        WorkspaceError::Member {
            archive,
            name: self.member.map(str::to_owned),
            nameable: self.nameable,
            members,
        }
    }
}
