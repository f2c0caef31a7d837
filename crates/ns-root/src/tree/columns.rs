//! Columns of a tree: the baskets of a branch, one after another.

use super::branch::{Branch, Leaf, Number};
use super::{Fault, Tree, is_tree};
use crate::block;
use crate::cursor::Cursor;
use crate::error::{Malformed, RootError};
use crate::file::RootFile;
use crate::key::Key;

/// Largest number of events that are read.
const MOST_ENTRIES: u64 = 1 << 31;

impl RootFile {
    /// Reads the description of a tree; its events are read by [`Self::columns`]. `path` is as in [`Self::histogram`].
    ///
    /// # Errors
    /// [`RootError::NotTree`], and those of [`Self::histogram`].
    pub fn tree(&self, path: &str) -> Result<Tree, RootError> {
        let key = self.find(path)?;
        if !is_tree(&key.class) {
            let (file, path) = (self.name().to_owned(), path.to_owned());
            return Err(RootError::NotTree { file, path, class: key.class });
        }
        let bytes = self.object(&key, path)?;
        Tree::read(&bytes, &key.class, key.header).map_err(|fault| match fault {
            Fault::Malformed(source) => self.damaged(path, source),
            Fault::Version { class, found, known } => RootError::Version {
                file: self.name().to_owned(),
                object: format!("'{path}'"),
                class,
                found,
                known,
            },
        })
    }

    /// Reads columns of a tree, one array for each name, with one number for each event. Whole numbers and truth values become
    /// numbers too. Names are those of [`Tree::columns`].
    ///
    /// # Errors
    /// [`RootError::NoBranch`] and [`RootError::NotFlat`] for a column, and those of [`Self::tree`].
    pub fn columns(&self, path: &str, names: &[String]) -> Result<Vec<Vec<f64>>, RootError> {
        let tree = self.tree(path)?;
        self.within(path, "the number of events", tree.entries, MOST_ENTRIES)?;
        names.iter().map(|name| self.column(path, &tree, name)).collect()
    }

    fn column(&self, path: &str, tree: &Tree, name: &str) -> Result<Vec<f64>, RootError> {
        let Some((branch, at)) = found(tree, name) else {
            let near = tree.columns().into_iter().min_by_key(|known| strsim::osa_distance(known, name));
            let nearest = near.filter(|near| strsim::osa_distance(near, name) <= name.len().div_ceil(2));
            let (file, tree) = (self.name().to_owned(), path.to_owned());
            return Err(RootError::NoBranch { file, tree, branch: name.to_owned(), nearest });
        };
        let not_flat = |reason: String| RootError::NotFlat {
            file: self.name().to_owned(),
            tree: path.to_owned(),
            branch: name.to_owned(),
            reason,
        };
        let layout = Layout::new(branch, at).map_err(not_flat)?;
        let place = format!("{path}/{name}");
        let mut out = Vec::new();
        for (seek, size) in &branch.baskets {
            let bytes = self.basket(*seek, *size, &place)?;
            self.take(&place, 8 * (bytes.len() / layout.size.max(1)) as u64)?;
            layout.append(&bytes, &mut out);
            self.within(&place, "the number of events", out.len() as u64, MOST_ENTRIES)?;
        }
        if out.len() as u64 != tree.entries {
            let reason = format!("its baskets have {} events, and the tree has {}", out.len(), tree.entries);
            return Err(not_flat(reason));
        }
        Ok(out)
    }

    /// Reads the data of a basket, decompressed and without the offsets behind them.
    fn basket(&self, seek: u64, size: usize, place: &str) -> Result<Vec<u8>, RootError> {
        self.within(place, "the stored size of a basket", size as u64, Self::LARGEST_OBJECT)?;
        let bytes = self.bytes(seek, size)?;
        let damaged = |source| self.damaged(place, source);
        let mut c = Cursor::new(&bytes, seek);
        let key = Key::read(&mut c).map_err(damaged)?;
        // Version, size of the buffer, size of an event.
        c.take(10, "the sizes of a basket").map_err(damaged)?;
        c.count("the number of events in a basket").map_err(damaged)?;
        let last = c.count("the end of a basket").map_err(damaged)?;
        let value = |found: usize, what, expected| {
            damaged(Malformed::Value { at: seek, what, found: found as i64, expected })
        };
        self.within(place, "the size of a basket", key.unpacked as u64, Self::LARGEST_OBJECT)?;
        self.take(place, key.unpacked.max(size) as u64)?;
        let stored = bytes
            .get(key.header..key.stored)
            .ok_or_else(|| value(key.stored, "the stored size of a basket", "within the basket"))?;
        let mut data = if key.unpacked <= stored.len() {
            stored.to_vec()
        } else {
            block::unpacked(stored, key.unpacked).map_err(damaged)?
        };
        let end = last
            .checked_sub(key.header)
            .filter(|end| *end <= data.len())
            .ok_or_else(|| value(last, "the end of a basket", "within the basket"))?;
        data.truncate(end);
        Ok(data)
    }
}

/// Finds a branch and one of its leaves by the name of a column.
fn found<'t>(tree: &'t Tree, name: &str) -> Option<(&'t Branch, usize)> {
    let all = || tree.branches.iter().filter(|branch| !branch.leaves.is_empty());
    // The name of a branch alone stands for its first leaf, as in ROOT.
    if let Some(branch) = all().find(|branch| branch.name == name) {
        return Some((branch, 0));
    }
    all().find_map(|branch| {
        let leaf = name.strip_prefix(branch.name.as_str())?.strip_prefix('.')?;
        branch.leaves.iter().position(|known| known.name == leaf).map(|at| (branch, at))
    })
}

/// Where the number of an event is among its bytes.
struct Layout {
    number: Number,
    offset: usize,
    /// Number of bytes of an event.
    size: usize,
}

impl Layout {
    /// The error says why a leaf does not have one number for each event.
    fn new(branch: &Branch, at: usize) -> Result<Self, String> {
        if branch.embedded {
            return Err("some of its events were not written out as baskets of their own".to_owned());
        }
        let mut sizes = Vec::with_capacity(branch.leaves.len());
        for leaf in &branch.leaves {
            sizes.push(size(leaf)?);
        }
        let leaf = branch.leaves.get(at).ok_or("it has no numbers")?;
        let number = leaf.number.ok_or_else(|| unknown(leaf))?;
        if leaf.length != 1 {
            return Err(format!("it has {} numbers for each event", leaf.length));
        }
        Ok(Self { number, offset: sizes.iter().take(at).sum(), size: sizes.iter().sum() })
    }

    /// Appends the numbers of a basket.
    fn append(&self, bytes: &[u8], out: &mut Vec<f64>) {
        let events = bytes.chunks_exact(self.size.max(1));
        out.extend(
            events.filter_map(|event| event.get(self.offset..)).filter_map(|at| value(self.number, at)),
        );
    }
}

fn unknown(leaf: &Leaf) -> String {
    format!("its leaf '{}' is a {}, which is no basic type", leaf.name, leaf.class)
}

/// Number of bytes of a leaf for each event.
fn size(leaf: &Leaf) -> Result<usize, String> {
    let number = leaf.number.ok_or_else(|| unknown(leaf))?;
    if leaf.length == 0 {
        return Err(format!("its leaf '{}' has another number of values in each event", leaf.name));
    }
    Ok(number.size().saturating_mul(leaf.length))
}

/// Reads the number at the beginning of bytes.
fn value(number: Number, bytes: &[u8]) -> Option<f64> {
    macro_rules! as_f64 {
        ($type:ty) => {
            bytes.first_chunk().map(|chunk| <$type>::from_be_bytes(*chunk) as f64)
        };
    }
    match number {
        Number::F32 => bytes.first_chunk().map(|chunk| f64::from(f32::from_be_bytes(*chunk))),
        Number::F64 => bytes.first_chunk().map(|chunk| f64::from_be_bytes(*chunk)),
        Number::I8 => as_f64!(i8),
        Number::U8 => as_f64!(u8),
        Number::I16 => as_f64!(i16),
        Number::U16 => as_f64!(u16),
        Number::I32 => as_f64!(i32),
        Number::U32 => as_f64!(u32),
        Number::I64 => as_f64!(i64),
        Number::U64 => as_f64!(u64),
        Number::Bool => bytes.first().map(|byte| f64::from(u8::from(*byte != 0))),
    }
}
