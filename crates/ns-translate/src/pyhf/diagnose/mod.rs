//! The slow reader of workspaces, which finds all problems of a file. It runs only if the fast reader failed.
//!
//! The text is read as a JSON tree. Deviations that have only one meaning are corrected (`tolerate`). If the
//! fast reader then accepts the tree, the result is a workspace with warnings. Otherwise [`read`] compares
//! the tree with the structure of a workspace and keeps all parts that it can read as a [`Document`]. The
//! contents of this document are then checked as usual (`rules`, `declare`, `settings`). A wrong type in one
//! part of the file therefore does not hide a wrong length in another part.

mod duplicates;
pub(crate) mod expect;
mod read;
mod syntax;

use ns_core::Interpolation;
use serde::Deserialize as _;
use serde_json::Value;

use super::document::Document;
use super::error::WorkspaceError;
use super::problem::Report;
use super::tolerate::{bring_into_form, remove_copies};
use super::workspace::validate_document;

pub(crate) use duplicates::report_duplicate_keys;
pub(crate) use syntax::explain_syntax;

/// Reads text that the fast reader (`pyhf::parse`) could not read. `report` has the problems found so far.
///
/// # Errors
/// If the text is not a workspace: an error with all problems found.
pub(crate) fn read_text(text: &[u8], mut report: Report) -> Result<(Document, Report), WorkspaceError> {
    match serde_json::from_slice::<Value>(text) {
        Err(error) => Err(explain_syntax(text, &error)),
        Ok(value) => {
            report_duplicate_keys(text, &mut report);
            read_tree(value, report)
        }
    }
}

/// Reads a JSON tree that the fast reader refused, or whose text has repeated keys. `report` has the problems
/// found so far, including repeated keys.
///
/// # Errors
/// The errors of [`read_text`].
pub(crate) fn read_tree(mut value: Value, mut report: Report) -> Result<(Document, Report), WorkspaceError> {
    if !read::is_something_else(&value, &mut Report::default()) {
        bring_into_form(&mut value, &mut report);
    }
    let (mut document, refusal) = match Document::deserialize(&value) {
        Ok(document) if !report.has_errors() => return Ok((document, report)),
        Ok(document) => (document, None),
        Err(error) => (read::document(&value, &mut report), Some(error)),
    };
    if let Some(error) = refusal.filter(|_| !report.has_errors()) {
        // This reader found no problem although the fast reader failed, so the error of the fast reader is
        // reported.
        report.error(
            String::new(),
            format!("The document is not a pyhf workspace: {error}."),
            "Compare it with the format of pyhf's workspace schema 1.0.0.",
        );
    }
    remove_copies(&mut document, &mut report);
    report.extend(validate_document(&document, Interpolation::default(), false));
    Err(WorkspaceError::Invalid { report })
}
