//! The slow way to read a workspace: taken only when the fast one failed, to find out
//! everything that is wrong.

use serde_json::Value;

use super::error::WorkspaceError;
use super::problem::Report;

/// Why `text` could not be read.
pub(crate) fn explain(text: &[u8], error: &serde_json::Error) -> WorkspaceError {
    let _ = text;
    WorkspaceError::Syntax {
        line: error.line(),
        column: error.column(),
        path: String::new(),
        message: error.to_string(),
        remedy: String::new(),
    }
}

/// Why `value` could not be read.
pub(crate) fn explain_value(value: &Value, error: &serde_json::Error) -> WorkspaceError {
    let _ = value;
    let mut report = Report::default();
    report.error(String::new(), error.to_string(), "");
    WorkspaceError::Invalid { report }
}
