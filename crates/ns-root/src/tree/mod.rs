//! Trees with flat branches: one number of a basic type for each event.

mod branch;
mod columns;
mod pointer;

use crate::cursor::Cursor;
use crate::error::Malformed;
use branch::Branch;
use pointer::Pointers;

/// Largest number of baskets of a branch.
const MOST_BASKETS: usize = 1 << 24;
/// Oldest and newest version of a tree that is read.
const VERSIONS: std::ops::RangeInclusive<u16> = 16..=20;

/// Why the bytes of a tree cannot be read.
#[derive(Debug)]
pub(crate) enum Fault {
    Malformed(Malformed),
    Version { class: &'static str, found: u16, known: &'static str },
}

impl From<Malformed> for Fault {
    fn from(error: Malformed) -> Self {
        Self::Malformed(error)
    }
}

/// A tree: its number of events, and its branches.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    /// Name within its directory.
    pub name: String,
    /// Title.
    pub title: String,
    /// Number of events.
    pub entries: u64,
    pub(crate) branches: Vec<Branch>,
}

/// Whether a class is a tree that is read.
pub(crate) fn is_tree(class: &str) -> bool {
    matches!(class, "TTree" | "TNtuple" | "TNtupleD")
}

impl Tree {
    /// Names of the columns that can be read: the name of a branch, or `branch.leaf` where a branch has several leaves.
    #[must_use]
    pub fn columns(&self) -> Vec<String> {
        self.branches.iter().flat_map(Branch::columns).collect()
    }

    /// Reads a tree of a class of [`is_tree`]. `header` is the length of its key.
    pub(crate) fn read(bytes: &[u8], class: &str, header: usize) -> Result<Self, Fault> {
        let mut c = Cursor::new(bytes, 0);
        if class != "TTree" {
            c.bounded("a TNtuple")?;
        }
        let (version, _) = c.bounded("a TTree")?;
        if !VERSIONS.contains(&version) {
            return Err(Fault::Version { class: "TTree", found: version, known: "16 to 20" });
        }
        let (name, title) = c.named()?;
        for what in ["the line of a tree", "the fill of a tree", "the marker of a tree"] {
            c.skip(what)?;
        }
        let at = c.position();
        let entries = c.i64("the number of events")?;
        let entries = u64::try_from(entries).map_err(|_| Malformed::Value {
            at,
            what: "the number of events",
            found: entries,
            expected: "0 or more",
        })?;
        // Sizes in bytes, weight, timer, field of scans, update interval, length of offsets.
        let sizes = if version >= 18 { 4 } else { 3 };
        let intervals = if version >= 17 { 4 } else { 3 };
        c.take(8 * sizes + 8 + 4 * intervals, "the settings of a tree")?;
        let ranges = if version >= 19 { c.count("the number of cluster ranges")? } else { 0 };
        // Limits, when to save and to flush, number of events for estimates.
        let limits = if version >= 18 { 6 } else { 5 };
        c.take(8 * limits, "the limits of a tree")?;
        if version >= 19 {
            // Each of the two arrays has a mark before it.
            c.take(2 * (1 + ranges.saturating_mul(8)), "the cluster ranges of a tree")?;
        }
        if version >= 20 {
            c.skip("the features of a tree")?;
        }
        let pointers = Pointers { bytes, key: header };
        let mut branches = Vec::new();
        branch::read_all(&mut c, &pointers, "", 0, &mut branches)?;
        Ok(Self { name, title, entries, branches })
    }
}
