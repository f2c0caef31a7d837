//! Combines equal problems at many places of a file into one warning.

use std::collections::HashMap;

use crate::pyhf::problem::Report;

/// Largest number of places that a warning lists besides the first one.
const NAMED: usize = 3;

/// The warnings about a file, one for each kind of deviation from the format, in the order of their first occurrence.
/// A program that deviates from the format usually does so at hundreds of places of a file.
#[derive(Default)]
pub(crate) struct Gathered {
    kinds: Vec<WarningKind>,
    by_name: HashMap<&'static str, usize>,
}

struct WarningKind {
    path: String,
    message: String,
    remedy: String,
    /// Paths of places besides the first one, at most [`NAMED`].
    others: Vec<String>,
    n_others: usize,
}

impl Gathered {
    /// Adds a path to the warning about the deviation `kind`. `say` returns the message and the remedy of the
    /// warning. It is called for the first path only.
    pub(crate) fn note(&mut self, kind: &'static str, path: String, say: impl FnOnce() -> (String, String)) {
        if let Some(known) = self.by_name.get(kind).and_then(|&i| self.kinds.get_mut(i)) {
            known.n_others += 1;
            if known.others.len() < NAMED {
                known.others.push(path);
            }
            return;
        }
        let (message, remedy) = say();
        self.by_name.insert(kind, self.kinds.len());
        self.kinds.push(WarningKind { path, message, remedy, others: Vec::new(), n_others: 0 });
    }

    /// Adds the warnings to `report`.
    pub(crate) fn tell(self, report: &mut Report) {
        for WarningKind { path, mut message, remedy, others, n_others } in self.kinds {
            if n_others > 0 {
                let places = if n_others == 1 { "another place" } else { "other places" };
                let number = if n_others == 1 { String::new() } else { format!("{n_others} ") };
                let rest = if n_others > others.len() { " and more" } else { "" };
                message
                    .push_str(&format!(" The same holds at {number}{places}: {}{rest}.", others.join(", ")));
            }
            report.warn(path, message, remedy);
        }
    }
}
