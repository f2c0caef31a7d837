//! Checks of a document that hold for all of its likelihoods.

mod contents;
mod references;
mod template;

pub(super) use contents::{edges, range};

use crate::pyhf::problem::Report;

use super::index::Index;

/// Reports names that stand for nothing or for the wrong thing, circles of references, and data, histograms
/// and samples that are inconsistent.
pub(super) fn check(index: &Index<'_>, report: &mut Report) {
    references::check(index, report);
    contents::check(index.document, report);
}
