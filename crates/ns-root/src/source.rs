//! Where the bytes of a file come from: a file on disk, of which parts are read, or memory.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::sync::Arc;

/// The bytes of a file.
#[derive(Debug)]
pub(crate) enum Source {
    Disk { file: File, len: u64 },
    Memory(Arc<[u8]>),
}

impl Source {
    pub(crate) fn disk(mut file: File) -> io::Result<Self> {
        let len = file.seek(SeekFrom::End(0))?;
        Ok(Self::Disk { file, len })
    }

    /// Number of bytes.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Disk { len, .. } => *len,
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Reads `n` bytes, or those that there are if the file ends before.
    pub(crate) fn read(&mut self, at: u64, n: usize) -> io::Result<Vec<u8>> {
        let there = self.len().saturating_sub(at).min(n as u64);
        match self {
            Self::Disk { file, .. } => {
                file.seek(SeekFrom::Start(at))?;
                let mut out = Vec::new();
                file.take(there).read_to_end(&mut out)?;
                Ok(out)
            }
            Self::Memory(bytes) => {
                let from = usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
                Ok(bytes.get(from..from + there as usize).unwrap_or_default().to_vec())
            }
        }
    }
}
