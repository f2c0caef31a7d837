//! The slow reader of workspaces, which finds everything that is wrong. It runs only if the fast reader failed.
//!
//! The text is read as a tree. Deviations that have only one meaning are corrected (`tolerate`). If
//! the fast reader then accepts the result, there is a workspace with warnings. Otherwise [`read`] compares the
//! tree with the structure of a workspace and keeps whatever it understood as a [`Document`], to
//! which the ordinary rules are applied. So a wrong type in one place does not hide a wrong length in
//! another.

mod duplicates;
pub(crate) mod expect;
mod read;
mod syntax;

use serde::Deserialize as _;
use serde_json::Value;

use super::document::Document;
use super::error::WorkspaceError;
use super::problem::Report;
use super::tolerate::{bring_into_form, remove_copies};
use super::workspace::validate_document;

pub(crate) use duplicates::report_duplicate_keys;
pub(crate) use syntax::explain_syntax;

/// Reads text that the fast reader refused. `report` holds the problems found so far.
///
/// # Errors
/// If it is no workspace: with everything that is wrong.
pub(crate) fn read_text(text: &[u8], mut report: Report) -> Result<(Document, Report), WorkspaceError> {
    match serde_json::from_slice::<Value>(text) {
        Err(error) => Err(explain_syntax(text, &error)),
        Ok(value) => {
            report_duplicate_keys(text, &mut report);
            read_tree(value, report)
        }
    }
}

/// Reads a tree that the fast reader refused, or one with repeated keys, which are in `report`.
///
/// # Errors
/// As [`read_text`].
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
        // The fast reader is stricter than this one somewhere: never hide its refusal.
        report.error(
            String::new(),
            format!("The document is not a pyhf workspace: {error}."),
            "Compare it with the format of pyhf's workspace schema 1.0.0.",
        );
    }
    remove_copies(&mut document, &mut report);
    report.extend(validate_document(&document));
    Err(WorkspaceError::Invalid { report })
}
