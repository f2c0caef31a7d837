//! How hard the fits around a known minimum look for lower ones.

use ns_core::{FitRequest, Model, Search};

use crate::analysis::Analysis;

/// Free parameters up to which a search takes a millisecond or a few.
const SMALL: usize = 120;

/// Free parameters up to which it takes microseconds.
const TINY: usize = 48;

/// Whether a search costs so little that every conditional fit gets the one that the free fit had. False where that
/// had none.
pub(crate) fn is_small(model: &Model, request: &FitRequest) -> bool {
    has_at_most(SMALL, model, request)
}

/// Whether so few parameters are free that every step towards a crossing can be searched: there are dozens of them for every
/// parameter.
pub(crate) fn is_tiny(model: &Model, request: &FitRequest) -> bool {
    has_at_most(TINY, model, request)
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
    /// How far the fits of a scan or a ranking search: in small models as far as the free fit, since a descent from
    /// a neighbour's point may end in a higher valley than a fit of its own; otherwise as [`Self::nearby_search`].
    pub(crate) fn variation_search(&self) -> Search {
        if is_small(self.model, &self.base) { self.base.search } else { self.nearby_search() }
    }
}
