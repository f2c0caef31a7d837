//! The effort with which fits around a known minimum search for lower ones.

use ns_core::{FitRequest, Model, Search};

use crate::analysis::Analysis;

/// Up to this many free parameters every intermediate fit makes a search, which takes microseconds to a millisecond.
const TINY: usize = 24;

/// Up to this many free parameters reported fits make a thorough search, and every step towards a crossing makes a search.
const SMALL: usize = 48;

/// Up to this many free parameters conditional fits make the same search as the free fit, which takes a few milliseconds.
const MIDDLING: usize = 120;

/// At most [`SMALL`]. False, like the others, where the free fit has no search.
pub(crate) fn is_small(model: &Model, request: &FitRequest) -> bool {
    has_at_most(SMALL, model, request)
}

/// At most [`MIDDLING`].
pub(crate) fn is_middling(model: &Model, request: &FitRequest) -> bool {
    has_at_most(MIDDLING, model, request)
}

fn has_at_most(most: usize, model: &Model, request: &FitRequest) -> bool {
    let held = |i: usize| request.fixed.iter().any(|(j, _)| *j == i);
    let free =
        model.parameters.iter().enumerate().filter(|(i, p)| {
            !held(*i) && p.bounds.0 < p.bounds.1 && (!p.fixed || request.released.contains(i))
        });
    request.search != Search::Local && free.count() <= most
}

impl Analysis<'_> {
    /// Whether a search is so cheap that every intermediate fit makes one.
    pub(crate) fn is_tiny(&self) -> bool {
        has_at_most(TINY, self.model, &self.base)
    }

    /// Whether reported fits make a thorough search from more than one start, and are compared with their
    /// neighbours.
    pub(crate) fn is_small(&self) -> bool {
        is_small(self.model, &self.base)
    }

    /// The search of the fits of a scan or a ranking. In models of medium size it is that of the free fit, because a descent from
    /// a neighbour's point may end in a higher valley; otherwise it is [`Self::nearby_search`].
    pub(crate) fn variation_search(&self) -> Search {
        if is_middling(self.model, &self.base) { self.base.search } else { self.nearby_search() }
    }
}
