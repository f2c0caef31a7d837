//! The list of contents of a directory.

use std::collections::HashMap;

use crate::cursor::Cursor;
use crate::error::Malformed;
use crate::key::Key;

/// The keys of a directory, and where each name is among them.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    pub(crate) keys: Vec<Key>,
    by_name: HashMap<String, Vec<usize>>,
}

impl Directory {
    /// Reads a list of contents: a key, the number of keys, and the keys.
    pub(crate) fn read(bytes: &[u8], base: u64) -> Result<Self, Malformed> {
        let mut c = Cursor::new(bytes, base);
        let own = Key::read(&mut c)?;
        if own.header > c.at() {
            c.skip_to(own.header, "the key of a list of contents")?;
        }
        let n = c.count("the number of keys")?;
        let mut out = Self::default();
        for i in 0..n {
            let key = Key::read(&mut c)?;
            out.by_name.entry(key.name.clone()).or_default().push(i);
            out.keys.push(key);
        }
        Ok(out)
    }

    /// The key of a name: the one with the highest cycle, or the one with the cycle that is asked for.
    pub(crate) fn find(&self, name: &str, cycle: Option<i16>) -> Option<&Key> {
        let found = self.by_name.get(name)?.iter().filter_map(|&i| self.keys.get(i));
        match cycle {
            Some(cycle) => found.into_iter().find(|key| key.cycle == cycle),
            None => found.into_iter().max_by_key(|key| key.cycle),
        }
    }

    /// The cycles of a name, if it has any.
    pub(crate) fn cycles(&self, name: &str) -> Vec<i16> {
        let places = self.by_name.get(name).into_iter().flatten();
        places.filter_map(|&i| self.keys.get(i)).map(|key| key.cycle).collect()
    }
}
