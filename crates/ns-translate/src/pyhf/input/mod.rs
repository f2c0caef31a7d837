//! Reads uncompressed files, files compressed with gzip, and members of archives.
//!
//! The first bytes of a file, and not its name, determine its type. A member of an archive is named
//! `archive.tar.gz:path/in/archive.json`. HEPData publishes such archives. The result is the text of the
//! document, so nothing later depends on how the document was packed.

mod archive;
mod bounded;
mod place;

use std::cell::Cell;
use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

pub(crate) use self::archive::is_tar;
pub(crate) use self::bounded::Bounded;
use self::bounded::Limits;
use self::place::FileMember;
use super::error::WorkspaceError;

/// First bytes of a gzip file.
const GZIP: [u8; 2] = [0x1F, 0x8B];

/// Reads the text of a file, and unpacks it if it is compressed. The path `archive.tar.gz:member.json` names
/// a member of an archive.
///
/// # Errors
/// [`WorkspaceError::Io`] if the file cannot be read; [`WorkspaceError::TooLong`] if it is longer than a
/// workspace can be; [`WorkspaceError::Unpack`] if it is damaged or unpacks to too many bytes;
/// [`WorkspaceError::Member`] if it is an archive and no member is named, or the archive lacks the named
/// member; [`WorkspaceError::NoArchive`] if a member is named and the file is not an archive.
pub fn read_file(path: &Path) -> Result<Vec<u8>, WorkspaceError> {
    let place = FileMember::of(path);
    let file = File::open(place.file()).map_err(|error| place.io(error))?;
    text(BufReader::new(file), &place, Limits::DEFAULT)
}

/// Reads text like [`read_file`], but from another source such as standard input. `name` is the name of the
/// source in messages.
///
/// # Errors
/// The errors of [`read_file`].
pub fn read_from(reader: impl Read, name: &str) -> Result<Vec<u8>, WorkspaceError> {
    text(reader, &FileMember::stream(name), Limits::DEFAULT)
}

/// Returns the path of the file on disk. For a path that names a member of an archive, this is the path of
/// the archive.
#[must_use]
pub fn file_of(path: &Path) -> &Path {
    FileMember::of(path).file()
}

/// Reads a source to its end, and unpacks the text if it is compressed or in an archive.
fn text(mut reader: impl Read, place: &FileMember<'_>, limits: Limits) -> Result<Vec<u8>, WorkspaceError> {
    let first = first(&mut reader, GZIP.len()).map_err(|error| place.io(error))?;
    let packed = first == GZIP;
    let reader = Cursor::new(first).chain(reader);
    if !packed {
        return contents(reader, place, limits, Pipe::Plain);
    }
    let exceeded = Cell::new(false);
    let unpacked = Bounded::new(MultiGzDecoder::new(reader), limits.stream, &exceeded);
    contents(unpacked, place, limits, Pipe::Unpacked).map_err(|error| match error {
        WorkspaceError::Io { .. } if exceeded.get() => place.too_large(limits.stream),
        WorkspaceError::Io { source, .. } => place.damaged(source),
        other => other,
    })
}

/// Whether a stream is compressed. This decides which error is returned for a stream that is too long.
#[derive(Clone, Copy)]
enum Pipe {
    Plain,
    Unpacked,
}

/// Reads the text of a stream. `reader` gives the bytes after any unpacking of gzip. If they are an archive, reads
/// the named member.
fn contents(
    mut reader: impl Read,
    place: &FileMember<'_>,
    limits: Limits,
    pipe: Pipe,
) -> Result<Vec<u8>, WorkspaceError> {
    let mut text = first(&mut reader, archive::HEADER).map_err(|error| place.io(error))?;
    if archive::is_tar(&text) {
        let member = archive::member(Cursor::new(text).chain(reader), place, limits)?;
        // A member of an archive may itself be compressed.
        let again = member.starts_with(&GZIP);
        return if again { self::text(Cursor::new(member), &place.unpacked(), limits) } else { Ok(member) };
    }
    place.must_be_whole()?;
    let most = limits.text.saturating_add(1).saturating_sub(text.len() as u64);
    reader.take(most).read_to_end(&mut text).map_err(|error| place.io(error))?;
    if text.len() as u64 <= limits.text {
        return Ok(text);
    }
    Err(match pipe {
        Pipe::Plain => place.too_long(limits.text),
        Pipe::Unpacked => place.too_large(limits.text),
    })
}

/// Reads the first `n` bytes, or all bytes if there are fewer.
fn first(reader: &mut impl Read, n: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(n);
    reader.by_ref().take(n as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
