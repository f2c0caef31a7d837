//! A key: the name of an object, and where it is.

use crate::cursor::Cursor;
use crate::error::Malformed;
use crate::header::WIDE_RECORD;

/// The name of an object, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    /// Number of bytes in the file, those of the key itself included.
    pub(crate) stored: usize,
    /// Number of bytes of the object after it is decompressed.
    pub(crate) unpacked: usize,
    /// Number of bytes of the key itself.
    pub(crate) header: usize,
    pub(crate) cycle: i16,
    /// Position of the key in the file; the object follows it.
    pub(crate) seek: u64,
    pub(crate) class: String,
    pub(crate) name: String,
    pub(crate) title: String,
}

impl Key {
    pub(crate) fn read(c: &mut Cursor<'_>) -> Result<Self, Malformed> {
        let stored = c.count("the stored size of an object")?;
        let wide = c.i16("the version of a key")? > WIDE_RECORD;
        let unpacked = c.count("the size of an object")?;
        c.u32("the time of a key")?;
        let at = c.position();
        let header = c.i16("the length of a key")?;
        let header = usize::try_from(header).ok().filter(|&n| n <= stored).ok_or(Malformed::Value {
            at,
            what: "the length of a key",
            found: header.into(),
            expected: "between 0 and the stored size of its object",
        })?;
        let cycle = c.i16("the cycle of a key")?;
        let seek = c.seek(wide, "the position of an object")?;
        c.seek(wide, "the position of a directory")?;
        let class = c.text("the class of an object")?;
        let name = c.text("the name of an object")?;
        let title = c.text("the title of an object")?;
        Ok(Self { stored, unpacked, header, cycle, seek, class, name, title })
    }

    /// Number of bytes of the object as it is in the file.
    pub(crate) fn packed(&self) -> usize {
        self.stored - self.header
    }

    pub(crate) fn is_directory(&self) -> bool {
        matches!(self.class.as_str(), "TDirectory" | "TDirectoryFile")
    }
}
