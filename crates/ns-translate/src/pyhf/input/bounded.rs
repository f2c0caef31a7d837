//! Limits the number of bytes that are read, because a small compressed file can unpack to any size.

use std::cell::Cell;
use std::io::{self, Read};

/// Largest numbers of bytes that are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Largest size of a document in bytes. The largest published documents have a tenth of the default size.
    pub(super) text: u64,
    /// Largest size in bytes of an unpacked stream, for example of all members of an archive together.
    pub(super) stream: u64,
}

impl Limits {
    pub(super) const DEFAULT: Self = Self { text: 1 << 30, stream: 1 << 32 };
}

/// A reader that fails when more than `left` bytes are read. When it fails, it also sets the flag `exceeded`, because
/// a reader that reads from this one may replace the error.
pub(crate) struct Bounded<'a, R> {
    inner: R,
    left: u64,
    exceeded: &'a Cell<bool>,
}

impl<'a, R: Read> Bounded<'a, R> {
    pub(crate) fn new(inner: R, left: u64, exceeded: &'a Cell<bool>) -> Self {
        Self { inner, left, exceeded }
    }
}

impl<R: Read> Read for Bounded<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        match self.left.checked_sub(n as u64) {
            Some(left) => {
                self.left = left;
                Ok(n)
            }
            None => {
                self.exceeded.set(true);
                Err(io::ErrorKind::FileTooLarge.into())
            }
        }
    }
}
