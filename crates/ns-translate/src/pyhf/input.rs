//! Reading what a user names: a file, a pipe or a device, up to a length that no workspace has.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::error::WorkspaceError;

/// Bytes of the longest input: ten times the largest workspaces there are. Pipes and devices may have no end.
pub const MOST_BYTES: u64 = 1 << 30;

/// Reads a whole file.
///
/// # Errors
/// If it cannot be read or is longer than [`MOST_BYTES`].
pub fn read_file(path: &Path) -> Result<Vec<u8>, WorkspaceError> {
    let file = File::open(path).map_err(|source| WorkspaceError::Io { path: path.to_owned(), source })?;
    read_all(file, path)
}

/// Reads everything that `reader` has; `path` is its name in messages.
///
/// # Errors
/// As [`read_file`].
pub fn read_all(reader: impl Read, path: &Path) -> Result<Vec<u8>, WorkspaceError> {
    read_up_to(MOST_BYTES, reader, path)
}

fn read_up_to(limit: u64, reader: impl Read, path: &Path) -> Result<Vec<u8>, WorkspaceError> {
    let mut bytes = Vec::new();
    reader
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|source| WorkspaceError::Io { path: path.to_owned(), source })?;
    if bytes.len() as u64 > limit {
        return Err(WorkspaceError::TooLong { path: path.to_owned(), limit });
    }
    Ok(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn endless_input_stops_at_a_limit() {
        let path = Path::new("pipe");
        let error = read_up_to(1000, std::io::repeat(b'y'), path).unwrap_err();
        assert!(matches!(error, WorkspaceError::TooLong { limit: 1000, .. }), "{error}");
        assert!(error.to_string().starts_with("pipe is longer than 1000 bytes"), "{error}");
        assert_eq!(read_up_to(1000, std::io::repeat(b'y').take(1000), path).unwrap().len(), 1000);
    }
}
