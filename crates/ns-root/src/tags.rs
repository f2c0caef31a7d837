//! Objects behind pointers: the labels of an axis.

use std::collections::HashMap;

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

/// The classes of an object that came before, by the references that stand for them.
#[derive(Debug)]
pub(crate) struct Tags {
    classes: HashMap<u32, String>,
    /// References count from the start of the key.
    key: usize,
}

/// A label: the number of its bin, counted from 1, and its text.
pub(crate) type Label = (u32, String);

impl Tags {
    pub(crate) fn new(key: usize) -> Self {
        Self { classes: HashMap::new(), key }
    }

    /// Reads the start of a pointer: the class and the end of what it points to, or nothing for a null pointer.
    fn pointer(&mut self, c: &mut Cursor<'_>) -> Result<Option<(String, usize)>, Malformed> {
        let at = c.position();
        let first = c.u32("a pointer")?;
        if first & BYTE_COUNT == 0 || first == NEW_CLASS {
            // A null pointer, or an object that came before; neither is a list of its own.
            return if first == 0 {
                Ok(None)
            } else {
                Err(Malformed::Value {
                    at,
                    what: "a pointer",
                    found: first.into(),
                    expected: "0 or an object with its length",
                })
            };
        }
        let length = (first & !BYTE_COUNT) as usize;
        let end = c.at().saturating_add(length);
        let place = c.at() + self.key + OFFSET;
        let tag = c.u32("the class of a pointer")?;
        let class = if tag == NEW_CLASS {
            let class = c.terminated("the class of a pointer")?;
            self.classes.insert(place as u32, class.clone());
            class
        } else {
            let known = self.classes.get(&(tag & !CLASS)).cloned();
            known.ok_or(Malformed::Value {
                at,
                what: "the class of a pointer",
                found: tag.into(),
                expected: "a class that came before",
            })?
        };
        Ok(Some((class, end)))
    }

    /// Reads a pointer to a list of labels.
    pub(crate) fn labels(&mut self, c: &mut Cursor<'_>) -> Result<Vec<Label>, Malformed> {
        let mut labels = Vec::new();
        let at = c.position();
        let Some((class, end)) = self.pointer(c)? else { return Ok(labels) };
        if !matches!(class.as_str(), "THashList" | "TList") {
            return Err(Malformed::Name {
                at,
                what: "the class of the labels",
                found: class,
                expected: "THashList",
            });
        }
        c.start("the labels of an axis")?;
        c.object()?;
        c.text("the name of a list")?;
        let n = c.count("the number of labels")?;
        for _ in 0..n {
            let Some((_, end)) = self.pointer(c)? else { continue };
            c.start("a label")?;
            let bin = c.object()?;
            labels.push((bin, c.text("a label")?));
            c.skip_to(end, "a label")?;
            c.text("the option of a label")?;
        }
        c.skip_to(end, "the labels of an axis")?;
        Ok(labels)
    }
}
