//! The arrays of a descent: how long each is, and whether it is in workgroup memory or in the slab of the descent.

use crate::lanes::metric::Metric;
use crate::plan::Plan;
use crate::shared_constants::PAIRS;

/// Number of bytes of workgroup memory that the sums of a workgroup take, for each thread and in addition.
const SUMS: (usize, usize) = (16, 8 * 16 + 16);

/// An array of a descent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Array {
    /// Name in the kernels, where it has the sign `$` before it.
    pub(super) name: &'static str,
    /// Number of elements.
    pub(super) len: usize,
    /// Position in the slab; `None` if the array is in workgroup memory.
    pub(super) slab: Option<usize>,
}

/// All arrays of a descent, and the size of its slab in numbers.
#[derive(Debug, Clone)]
pub(super) struct Arrays {
    pub(super) arrays: Vec<Array>,
    pub(super) slab: usize,
}

/// Names that stand for another array. The kernels use both at different times.
pub(super) const ALIASES: [(&str, &str); 3] =
    [("curved", "to"), ("curved_first", "from"), ("gradient", "from")];

impl Arrays {
    /// Places the arrays of a descent. Those that are used most come first into workgroup memory of `bytes` bytes. A
    /// workgroup has `threads` threads.
    pub(super) fn new(plan: &Plan, metric: &Metric, threads: usize, bytes: usize) -> Self {
        let (n, bins) = (plan.n_parameters(), plan.n_bins());
        let (primal, dual) = (metric.primal.len(), metric.dual.len());
        let blocks = &plan.structure.blocks;
        let cells: usize = blocks.iter().map(|block| block.n_bins).sum();
        let terms: usize = blocks.iter().map(|block| block.norm.1 - block.norm.0).sum();
        let lower = if dual == 0 { bins } else { bins * (bins + 1) / 2 };
        let sizes = [
            ("inverse_of_pair", PAIRS),
            ("weight_of_pair", PAIRS),
            ("pivot_column", bins.max(primal)),
            ("lower", lower),
            ("bins", bins),
            ("root", bins),
            ("back", bins),
            ("right", primal),
            ("inner", primal * (primal + 1) / 2),
            ("trial", n),
            ("to", n),
            ("from", n),
            ("slope_of_bin", bins),
            ("scale", blocks.len()),
            ("binwise", cells),
            ("additive", cells),
            ("total", blocks.len()),
            ("norm", blocks.len()),
            ("columns", primal * bins),
            ("dual", dual),
            ("local", metric.locals.len()),
            ("local_reaction", metric.locals.len()),
            ("held", n),
            ("theta", n),
            ("slope", n),
            ("direction", n),
            ("reaction", n),
            ("rows", if metric.own_derivatives { (dual + primal) * bins } else { 0 }),
            ("bend", if metric.own_derivatives { n } else { 0 }),
            ("ratio", terms),
            ("steps", PAIRS * n),
            ("changes", PAIRS * n),
        ];
        let mut left = (bytes / 4).saturating_sub((threads * SUMS.0 + SUMS.1) / 4);
        let mut slab = 0;
        let arrays = sizes.map(|(name, len)| {
            // An array without elements is not a valid type.
            let len = len.max(1);
            let place = (len > left).then_some(slab);
            match place {
                Some(_) => slab += len,
                None => left -= len,
            }
            Array { name, len, slab: place }
        });
        Self { arrays: arrays.into(), slab: slab.max(1) }
    }

    /// Returns the declarations of the arrays in workgroup memory.
    pub(super) fn declarations(&self) -> String {
        let shared = self.arrays.iter().filter(|array| array.slab.is_none());
        shared
            .map(|Array { name, len, .. }| format!("var<workgroup> s_{name}: array<real, {len}>;\n"))
            .collect()
    }

    /// Returns what stands for `$name[` in the kernels.
    fn access(&self, name: &str) -> Option<String> {
        let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, of)| of);
        let array = self.arrays.iter().find(|array| array.name == name)?;
        Some(match array.slab {
            None => format!("s_{name}["),
            Some(at) => format!("slabs[slab + {at}u + "),
        })
    }

    /// Replaces the names of arrays in a kernel.
    pub(super) fn place(&self, kernel: &str) -> String {
        let mut parts = kernel.split('$');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(part.len());
            let (name, rest) = part.split_at(end);
            match (self.access(name), rest.strip_prefix('[')) {
                (Some(access), Some(rest)) => {
                    text.push_str(&access);
                    text.push_str(rest);
                }
                _ => {
                    text.push('$');
                    text.push_str(part);
                }
            }
        }
        text
    }
}
