//! Reads members of tar archives.

use std::io::Read;

use tar::Archive;

use super::bounded::Limits;
use super::place::FileMember;
use crate::pyhf::error::WorkspaceError;

/// Size in bytes of the header of a member. The first header shows whether a file is an archive.
pub(super) const HEADER: usize = 512;

/// Largest number of member names that are kept for messages.
const NAMES: usize = 1000;

/// Returns whether a file that begins with these bytes is a tar archive.
pub(crate) fn is_tar(head: &[u8]) -> bool {
    head.len() == HEADER && head.get(257..262) == Some(b"ustar")
}

/// Returns the bytes of the member that `place` names. If several members have this name, the last one is
/// read, as by `tar`.
pub(super) fn member(
    reader: impl Read,
    place: &FileMember<'_>,
    limits: Limits,
) -> Result<Vec<u8>, WorkspaceError> {
    let mut archive = Archive::new(reader);
    let mut found = None;
    let mut names = Vec::new();
    let failed = |error: std::io::Error| place.io_or_damaged(error);
    for entry in archive.entries().map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let name = plain(&name);
        if place.member().is_some_and(|wanted| plain(wanted) == name) {
            let size = entry.size();
            let mut bytes = Vec::new();
            entry.take(limits.text.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
            if bytes.len() as u64 > limits.text {
                return Err(place.too_large(limits.text));
            }
            if bytes.len() as u64 != size {
                return Err(place.damaged(std::io::ErrorKind::UnexpectedEof.into()));
            }
            found = Some(bytes);
        } else if names.len() < NAMES {
            names.push(name.to_owned());
        }
    }
    found.ok_or_else(|| place.no_member(names))
}

/// Returns a name without a leading `./` or `/`, which some programs add.
fn plain(name: &str) -> &str {
    name.trim_start_matches("./").trim_start_matches('/')
}
