//! Pointers to objects within a tree.

use crate::cursor::Cursor;
use crate::error::Malformed;

/// Set in the first four bytes of a pointer if they are the length of what follows.
const BYTE_COUNT: u32 = 0x4000_0000;
/// A class that comes for the first time, by its name.
const NEW_CLASS: u32 = 0xffff_ffff;
/// Set in a reference to a class that came before.
const CLASS: u32 = 0x8000_0000;
/// What is added to a position to make a reference of it, so that no reference is 0.
const OFFSET: usize = 2;

/// Finds the classes of pointers. A class that came before is a position, counted from the start of the key; its name is read
/// there, so that objects in between may be skipped.
pub(super) struct Pointers<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) key: usize,
}

/// What a pointer points to.
pub(super) enum Pointed {
    /// Nothing.
    Null,
    /// An object that came before.
    Known,
    /// An object that follows: its class, and where it ends.
    Object { class: String, end: usize },
}

impl Pointers<'_> {
    /// Reads the start of a pointer.
    pub(super) fn read(&self, c: &mut Cursor<'_>) -> Result<Pointed, Malformed> {
        let first = c.u32("a pointer")?;
        if first == 0 {
            return Ok(Pointed::Null);
        }
        if first & BYTE_COUNT == 0 || first == NEW_CLASS {
            return Ok(Pointed::Known);
        }
        let end = c.at().saturating_add((first & !BYTE_COUNT) as usize);
        let tag = c.u32("the class of a pointer")?;
        if tag == NEW_CLASS {
            let class = c.terminated("the class of a pointer")?;
            return Ok(Pointed::Object { class, end });
        }
        let unknown = || Malformed::Value {
            at: c.position(),
            what: "the class of a pointer",
            found: tag.into(),
            expected: "a class that came before",
        };
        let place = ((tag & !CLASS) as usize).checked_sub(self.key + OFFSET).ok_or_else(unknown)?;
        let mut there = Cursor::new(self.bytes.get(place..).unwrap_or_default(), place as u64);
        if there.u32("the class of a pointer")? != NEW_CLASS {
            return Err(unknown());
        }
        Ok(Pointed::Object { class: there.terminated("the class of a pointer")?, end })
    }

    /// Reads the start of an array of pointers. Returns their number, and where the array ends.
    pub(super) fn array(&self, c: &mut Cursor<'_>, what: &'static str) -> Result<(usize, usize), Malformed> {
        let (version, end) = c.bounded(what)?;
        c.object()?;
        if version > 2 {
            c.text(what)?;
        }
        let n = c.count(what)?;
        c.i32(what)?;
        Ok((n, end))
    }
}
