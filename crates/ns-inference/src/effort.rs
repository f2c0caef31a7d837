//! How hard the fits around a known minimum look for lower ones.

use ns_core::{FitRequest, Model, Search};

use crate::analysis::Analysis;

/// Free parameters up to which a search takes a millisecond or a few.
const SMALL: usize = 120;

/// Whether a search costs so little that every conditional fit gets the one that the free fit had. False where that
/// had none.
pub(crate) fn is_small(model: &Model, request: &FitRequest) -> bool {
    let held = |i: usize| request.fixed.iter().any(|(j, _)| *j == i);
    let free =
        model.parameters.iter().enumerate().filter(|(i, p)| {
            !held(*i) && p.bounds.0 < p.bounds.1 && (!p.fixed || request.released.contains(i))
        });
    request.search != Search::Local && free.count() <= SMALL
}

impl Analysis<'_> {
    /// How far the fits of a scan or a ranking search: in small models as far as the free fit, since a descent from
    /// a neighbour's point may end in a higher valley than a fit of its own; otherwise as [`Self::nearby_search`].
    pub(crate) fn variation_search(&self) -> Search {
        if is_small(self.model, &self.base) { self.base.search } else { self.nearby_search() }
    }
}
