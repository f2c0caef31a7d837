//! How hard the fits around a known minimum look for lower ones.

use ns_core::{FitRequest, Model, Search};

/// Free parameters up to which every fit on the way to a number is searched: that takes microseconds to a millisecond.
const TINY: usize = 24;

/// Free parameters up to which fits that are reported are searched thoroughly, and every step towards a crossing is searched.
const SMALL: usize = 48;

/// Free parameters up to which conditional fits get the search that the free fit had: a millisecond or a few.
const MIDDLING: usize = 120;

/// At most [`TINY`].
pub(crate) fn is_tiny(model: &Model, request: &FitRequest) -> bool {
    has_at_most(TINY, model, request)
}

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
