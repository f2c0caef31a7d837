//! The slow way to read a workspace: taken only when the fast one failed, to find out
//! everything that is wrong.
//!
//! The text is read as a tree; [`read`] walks it against the structure of a workspace and
//! keeps whatever it understood as a [`Document`], on which the ordinary rules then run.
//! So a wrong type in one place does not hide a wrong length in another.

mod duplicates;
pub(crate) mod expect;
mod read;
mod syntax;

use serde_json::Value;

use super::document::Document;
use super::error::WorkspaceError;
use super::problem::Report;
use super::workspace::validate_document;

pub(crate) use duplicates::report_duplicate_keys;
pub(crate) use syntax::explain_syntax;

/// Why `text`, which the fast reader refused with `error`, is not a workspace.
pub(crate) fn explain(text: &[u8], error: &serde_json::Error) -> WorkspaceError {
    match serde_json::from_slice::<Value>(text) {
        Err(error) => explain_syntax(text, &error),
        Ok(value) => {
            let mut report = Report::default();
            report_duplicate_keys(text, &mut report);
            WorkspaceError::Invalid { report: full_report(&value, report, error) }
        }
    }
}

/// Why `value`, which the fast reader refused with `error`, is not a workspace.
pub(crate) fn explain_value(value: &Value, error: &serde_json::Error) -> WorkspaceError {
    WorkspaceError::Invalid { report: full_report(value, Report::default(), error) }
}

/// Problems of structure, then those of meaning.
fn full_report(value: &Value, mut report: Report, error: &serde_json::Error) -> Report {
    let document: Document = read::document(value, &mut report);
    if !report.has_errors() {
        // The fast reader is stricter than this one somewhere: never hide its refusal.
        report.error(
            String::new(),
            format!("The document is not a pyhf workspace: {error}."),
            "Compare it with the format of pyhf's workspace schema 1.0.0.",
        );
    }
    report.extend(validate_document(&document));
    report
}
