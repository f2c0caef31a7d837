//! Branches of a tree, and their leaves.

use super::pointer::{Pointed, Pointers};
use super::{Fault, MOST_BASKETS};
use crate::cursor::Cursor;
use crate::error::Malformed;

/// Deepest nesting of branches.
const DEEPEST: usize = 64;

/// The basic type of a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    F32,
    F64,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    Bool,
}

impl Number {
    /// The type of a class of leaves; `None` if it is no basic type.
    fn of(class: &str, unsigned: bool) -> Option<Self> {
        Some(match (class, unsigned) {
            ("TLeafF", _) => Self::F32,
            ("TLeafD", _) => Self::F64,
            ("TLeafO", _) => Self::Bool,
            ("TLeafB", false) => Self::I8,
            ("TLeafB", true) => Self::U8,
            ("TLeafS", false) => Self::I16,
            ("TLeafS", true) => Self::U16,
            ("TLeafI", false) => Self::I32,
            ("TLeafI", true) => Self::U32,
            ("TLeafL" | "TLeafG", false) => Self::I64,
            ("TLeafL" | "TLeafG", true) => Self::U64,
            _ => return None,
        })
    }

    /// Number of bytes.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 | Self::Bool => 1,
            Self::I16 | Self::U16 => 2,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F64 | Self::I64 | Self::U64 => 8,
        }
    }
}

/// A leaf: one number for each event, or several.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Leaf {
    pub(crate) name: String,
    pub(crate) class: String,
    /// `None` if it is no basic type.
    pub(crate) number: Option<Number>,
    /// Numbers for each event; 0 if another leaf says how many.
    pub(crate) length: usize,
}

/// A branch.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Branch {
    /// Name, with those of the branches above.
    pub(crate) name: String,
    pub(crate) class: String,
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) entries: u64,
    /// Position and size of each basket, in bytes of the file.
    pub(crate) baskets: Vec<(u64, usize)>,
    /// Whether events are in baskets that are part of the branch itself.
    pub(crate) embedded: bool,
}

impl Branch {
    /// Names of its columns that can be read.
    pub(super) fn columns(&self) -> Vec<String> {
        let flat = |leaf: &&Leaf| leaf.number.is_some() && leaf.length == 1;
        match self.leaves.as_slice() {
            [only] if flat(&only) => vec![self.name.clone()],
            [_] => Vec::new(),
            several => {
                several.iter().filter(flat).map(|leaf| format!("{}.{}", self.name, leaf.name)).collect()
            }
        }
    }
}

/// Reads an array of branches, those below them included.
pub(super) fn read_all(
    c: &mut Cursor<'_>,
    pointers: &Pointers<'_>,
    prefix: &str,
    depth: usize,
    out: &mut Vec<Branch>,
) -> Result<(), Fault> {
    let (n, array_end) = pointers.array(c, "the branches of a tree")?;
    for _ in 0..n {
        let Pointed::Object { class, end } = pointers.read(c)? else { continue };
        // Branches of objects have one of these inside, and further members behind it.
        if class == "TBranch" && depth < DEEPEST {
            read(c, pointers, prefix, depth, out)?;
        } else {
            c.bounded("a branch of objects")?;
            if class == "TBranchElement" && depth < DEEPEST {
                read(c, pointers, prefix, depth, out)?;
            }
        }
        c.skip_to(end, "a branch")?;
    }
    c.skip_to(array_end, "the branches of a tree")?;
    Ok(())
}

fn read(
    c: &mut Cursor<'_>,
    pointers: &Pointers<'_>,
    prefix: &str,
    depth: usize,
    out: &mut Vec<Branch>,
) -> Result<(), Fault> {
    let (version, end) = c.bounded("a TBranch")?;
    if !(10..=13).contains(&version) {
        return Err(Fault::Version { class: "TBranch", found: version, known: "10 to 13" });
    }
    let (own, _) = c.named()?;
    c.skip("the fill of a branch")?;
    // Compression, sizes of baskets and offsets.
    c.take(12, "the settings of a branch")?;
    let written = c.count("the number of baskets")?;
    c.i64("the number of events in a branch")?;
    if version >= 13 {
        c.skip("the features of a branch")?;
    }
    c.i32("the offset of a branch")?;
    let most = c.count("the largest number of baskets")?;
    if most > MOST_BASKETS || written > most {
        return Err(Fault::Malformed(Malformed::Value {
            at: c.position(),
            what: "the number of baskets",
            found: written.max(most) as i64,
            expected: "no more than there is room for, and 16 million",
        }));
    }
    c.i32("the splitting of a branch")?;
    let at = c.position();
    let entries = c.i64("the number of events in a branch")?;
    let entries = u64::try_from(entries).map_err(|_| Malformed::Value {
        at,
        what: "the number of events in a branch",
        found: entries,
        expected: "0 or more",
    })?;
    c.take(if version >= 12 { 24 } else { 16 }, "the sizes of a branch")?;
    let name = if prefix.is_empty() { own } else { format!("{prefix}.{}", own.trim_start_matches(prefix)) };
    let name = name.replace("..", ".").trim_end_matches('.').to_owned();
    let place = out.len();
    out.push(Branch {
        name: name.clone(),
        class: "TBranch".to_owned(),
        leaves: Vec::new(),
        entries,
        baskets: Vec::new(),
        embedded: false,
    });
    read_all(c, pointers, &name, depth + 1, out)?;
    let leaves = leaves(c, pointers)?;
    let (n, baskets_end) = pointers.array(c, "the baskets of a branch")?;
    let mut embedded = false;
    for _ in 0..n {
        if let Pointed::Object { end, .. } = pointers.read(c)? {
            embedded = true;
            c.skip_to(end, "a basket")?;
        }
    }
    c.skip_to(baskets_end, "the baskets of a branch")?;
    let sizes = array(c, most, |c| c.i32("the size of a basket").map(i64::from))?;
    array(c, most, |c| c.i64("the first event of a basket"))?;
    let seeks = array(c, most, |c| c.i64("the position of a basket"))?;
    let baskets =
        sizes.iter().zip(&seeks).take(written).map(|(size, seek)| {
            (u64::try_from(*seek).unwrap_or(u64::MAX), usize::try_from(*size).unwrap_or(0))
        });
    if let Some(branch) = out.get_mut(place) {
        branch.leaves = leaves;
        branch.baskets = baskets.collect();
        branch.embedded = embedded;
    }
    c.skip_to(end, "a TBranch")?;
    Ok(())
}

/// Reads an array with a mark before it.
fn array(
    c: &mut Cursor<'_>,
    n: usize,
    read: impl Fn(&mut Cursor<'_>) -> Result<i64, Malformed>,
) -> Result<Vec<i64>, Malformed> {
    c.u8("the mark of an array")?;
    (0..n).map(|_| read(c)).collect()
}

fn leaves(c: &mut Cursor<'_>, pointers: &Pointers<'_>) -> Result<Vec<Leaf>, Malformed> {
    let (n, array_end) = pointers.array(c, "the leaves of a branch")?;
    let mut out = Vec::new();
    for _ in 0..n {
        let Pointed::Object { class, end } = pointers.read(c)? else { continue };
        c.bounded("a leaf")?;
        let (_, base_end) = c.bounded("a TLeaf")?;
        let (name, _) = c.named()?;
        let length = c.count("the length of a leaf")?;
        c.take(8, "the settings of a leaf")?;
        c.u8("the range of a leaf")?;
        let unsigned = c.u8("the sign of a leaf")? != 0;
        let counted = !matches!(pointers.read(c)?, Pointed::Null);
        c.skip_to(base_end, "a TLeaf")?;
        c.skip_to(end, "a leaf")?;
        let number = Number::of(&class, unsigned);
        out.push(Leaf { name, class, number, length: if counted { 0 } else { length } });
    }
    c.skip_to(array_end, "the leaves of a branch")?;
    Ok(out)
}
