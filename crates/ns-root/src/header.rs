//! The first bytes of a file, and the record of a directory.

use crate::cursor::Cursor;
use crate::error::Malformed;

/// Number of bytes that the header of a file needs at most.
pub(crate) const LONGEST: usize = 64;
/// Files with this version or more have positions of eight bytes. Directories and keys have their own limit.
const WIDE_FILE: i32 = 1_000_000;
/// As above.
pub(crate) const WIDE_RECORD: i16 = 1000;

/// What the header of a file says about where to find its parts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Header {
    /// Position of the record of the top directory.
    pub(crate) top: u64,
}

impl Header {
    /// Reads a header that begins with the four letters of ROOT.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut c = Cursor::new(bytes, 0);
        c.take(4, "the letters 'root'")?;
        let wide = c.i32("the version of the file")? >= WIDE_FILE;
        let begin = c.seek(false, "the position of the first record")?;
        c.seek(wide, "the end of the file")?;
        c.seek(wide, "the position of the free segments")?;
        c.i32("the length of the free segments")?;
        c.i32("the number of free segments")?;
        let named = c.seek(false, "the length of the name")?;
        Ok(Self { top: begin.saturating_add(named) })
    }
}

/// Where the list of contents of a directory is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record {
    pub(crate) keys: u64,
    pub(crate) length: usize,
}

impl Record {
    /// Number of bytes of a record at most.
    pub(crate) const LONGEST: usize = 42;

    pub(crate) fn read(bytes: &[u8], base: u64) -> Result<Self, Malformed> {
        let mut c = Cursor::new(bytes, base);
        let wide = c.i16("the version of a directory")? > WIDE_RECORD;
        c.u32("the time of a directory")?;
        c.u32("the time of a directory")?;
        let length = c.count("the length of a list of contents")?;
        c.i32("the length of a directory's name")?;
        c.seek(wide, "the position of a directory")?;
        c.seek(wide, "the position of the directory above")?;
        let keys = c.seek(wide, "the position of a list of contents")?;
        Ok(Self { keys, length })
    }
}
