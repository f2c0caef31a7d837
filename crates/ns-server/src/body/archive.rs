//! Archives in the body of a request.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ns_translate::datacard::{CardError, CardOptions};
use ns_translate::pyhf::{DigestCheck, Patch, WorkspaceError};
use ns_translate::{Archive, ArchiveLimits, Format, ModelSource};

use crate::memory::of_json;
use crate::problem::ServerError;

/// Largest number of files and folders of an archive.
const MEMBERS: usize = 10_000;

/// Options of a datacard.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CardFields<'a> {
    pub(crate) mass: Option<f64>,
    pub(crate) map: &'a [String],
    pub(crate) mc_stats: Option<&'a str>,
}

impl CardFields<'_> {
    /// Whether the request has any of them.
    pub(crate) fn is_given(&self) -> bool {
        self.mass.is_some() || !self.map.is_empty() || self.mc_stats.is_some()
    }

    fn options(&self) -> Result<CardOptions, CardError> {
        let maps = self.map.iter().map(|map| map.parse()).collect::<Result<_, _>>()?;
        let mc_stats = self.mc_stats.map(str::parse).transpose()?.unwrap_or_default();
        Ok(CardOptions { mass: self.mass, maps, mc_stats, ..CardOptions::default() })
    }
}

/// Deflate packs at most about a thousand bytes into one. Files that are packed twice have the limit of the packed ones.
const MOST_GROWTH: u64 = 1100;
/// Part of the limit that does not depend on the size of an archive, in bytes.
const SMALL: u64 = 1 << 20;

/// Returns the limits of an archive, of which the files together may have an eighth of the memory `limit` of the server, and
/// the memory in bytes that its model needs at most.
fn limits(packed: &str, limit: u64) -> (ArchiveLimits, u64) {
    let unpacked = (limit / 8).min(MOST_GROWTH * packed.len() as u64 + SMALL);
    let limits = ArchiveLimits { members: MEMBERS, unpacked, read: unpacked / 4 };
    (limits, packed.len() as u64 + unpacked + 12 * limits.read)
}

/// Returns an upper estimate of the memory, in bytes, that reading an archive needs. `limit` is the memory of the server.
pub(super) fn memory(packed: &str, limit: u64) -> u64 {
    limits(packed, limit).1
}

/// Reads the model of an archive.
///
/// # Errors
/// If the text is not base64.
pub(super) fn read(
    packed: &str,
    file: Option<&str>,
    card: CardFields<'_>,
    patches: &[Patch],
    check: DigestCheck,
    limit: u64,
) -> Result<Result<ModelSource, WorkspaceError>, ServerError> {
    let (limits, _) = limits(packed, limit);
    let bytes = STANDARD.decode(packed).map_err(|error| ServerError::Body {
        pointer: "/model/archive".to_owned(),
        reason: format!("no base64: {error}; send the content of the file in base64"),
    })?;
    let source = || {
        let archive = Arc::new(Archive::unpack(&bytes, limits)?);
        drop(bytes);
        let (path, format) = archive.model(file)?;
        if format == Format::Json {
            let needed = 2 * archive.bytes_of(path).map_or(0, of_json);
            let limit = 12 * limits.read;
            if needed > limit {
                return Ok(Err(ServerError::TooLarge {
                    what: "the memory in bytes that the JSON of the archive needs",
                    actual: needed,
                    limit,
                }));
            }
        }
        let options = if card.is_given() { Some(card.options()?) } else { None };
        Ok(Ok(ModelSource::from_archive(&archive, file, patches, check, options)?))
    };
    match source() {
        Ok(Ok(source)) => Ok(Ok(source)),
        Ok(Err(error)) => Err(error),
        Err(error) => Ok(Err(error)),
    }
}
