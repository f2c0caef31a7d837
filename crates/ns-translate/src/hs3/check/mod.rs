//! Checks of a document that apply to all of its likelihoods.

mod contents;
mod references;
mod template;

pub(super) use contents::{edges, range};

use crate::pyhf::problem::Report;

use super::index::Index;

/// Reports names that do not exist or have the wrong type, cyclic references, and inconsistent data, histograms and
/// samples.
pub(super) fn check(index: &Index<'_>, report: &mut Report) {
    references::check(index, report);
    contents::check(index.document, report);
}
