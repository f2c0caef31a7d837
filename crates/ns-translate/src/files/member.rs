//! A file of an archive. One that is compressed with gzip is unpacked when it is first read.

use std::cell::Cell;
use std::io::Read as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use flate2::read::MultiGzDecoder;

use super::error::ArchiveError;
use super::unpack::{GZIP, damaged};
use crate::pyhf::Bounded;

/// How many bytes of a compressed file are unpacked to find out what it is.
const HEAD: u64 = 1 << 16;

/// A file of an archive.
#[derive(Debug)]
pub(crate) struct Member {
    /// The bytes in the archive.
    bytes: Arc<[u8]>,
    unpacked: OnceLock<Result<Arc<[u8]>, ArchiveError>>,
}

impl PartialEq for Member {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Member {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes: bytes.into(), unpacked: OnceLock::new() }
    }

    fn is_packed(&self) -> bool {
        self.bytes.starts_with(GZIP)
    }

    /// Number of bytes that are held.
    pub(super) fn len(&self) -> u64 {
        let unpacked = self.unpacked.get().and_then(|found| found.as_ref().ok());
        (self.bytes.len() + unpacked.map_or(0, |bytes| bytes.len())) as u64
    }

    /// Returns the beginning of the content, to find out what it is. Nothing is returned of bytes that cannot be unpacked.
    pub(crate) fn head(&self) -> Vec<u8> {
        let mut head = Vec::new();
        if self.is_packed() {
            // What was unpacked before an error is enough.
            let _ = MultiGzDecoder::new(&*self.bytes).take(HEAD).read_to_end(&mut head);
        } else {
            head.extend(self.bytes.iter().take(HEAD as usize));
        }
        head
    }

    /// Returns the content. If it has to be unpacked, `left` is how many bytes may still be unpacked of `limit`.
    ///
    /// # Errors
    /// [`ArchiveError::Damaged`] and [`ArchiveError::TooLarge`].
    pub(super) fn content(&self, left: &AtomicU64, limit: u64) -> Result<&Arc<[u8]>, ArchiveError> {
        if !self.is_packed() {
            return Ok(&self.bytes);
        }
        let unpack = || {
            let exceeded = Cell::new(false);
            let mut out = Vec::new();
            let room = left.load(Ordering::Relaxed);
            let read = Bounded::new(MultiGzDecoder::new(&*self.bytes), room, &exceeded).read_to_end(&mut out);
            let too_large = ArchiveError::TooLarge { limit };
            if exceeded.get() {
                return Err(too_large);
            }
            read.map_err(damaged)?;
            let size = out.len() as u64;
            let taken = |left: u64| left.checked_sub(size);
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken).map_err(|_| too_large)?;
            Ok(out.into())
        };
        self.unpacked.get_or_init(unpack).as_ref().map_err(Clone::clone)
    }
}
