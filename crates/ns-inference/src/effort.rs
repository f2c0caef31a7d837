//! The effort with which fits around a known minimum search for lower ones.

use ns_core::{FitRequest, Model, Search};

/// Up to this many free parameters every intermediate fit makes a search, which takes microseconds to a millisecond.
const TINY: usize = 24;

/// Up to this many free parameters reported fits make a thorough search, and every step towards a crossing makes a search.
const SMALL: usize = 48;

/// Up to this many free parameters conditional fits make the same search as the free fit, which takes a few milliseconds.
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
