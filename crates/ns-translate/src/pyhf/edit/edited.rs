//! What an operation returns, and the last check of its result.

use std::fmt;

use super::super::declare::declare;
use super::super::document::Document;
use super::super::error::WorkspaceError;
use super::super::names::quoted;
use super::super::problem::{Problem, Report};
use super::super::rules;
use super::super::settings::resolve;
use super::super::workspace::Workspace;

/// A new workspace and how it differs from the input.
#[derive(Debug, Clone, PartialEq)]
pub struct Edited {
    /// The result.
    pub workspace: Workspace,
    /// What was done, in the order of the input.
    pub changes: Vec<Change>,
    /// Warnings: consequences that may not have been intended.
    pub warnings: Vec<Problem>,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// JSON pointer to the place in the input; empty for the whole document.
    pub path: String,
    /// What was changed there. The verb is that of the operation.
    pub message: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

/// The operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// [`Workspace::prune`].
    Prune,
    /// [`Workspace::rename`].
    Rename,
    /// [`Workspace::combine`].
    Combine,
    /// [`Workspace::select_channels`].
    SelectChannels,
}

impl Operation {
    /// What could not be done, for messages.
    pub(crate) fn infinitive(self) -> &'static str {
        match self {
            Self::Prune => "prune the workspace",
            Self::Rename => "rename in the workspace",
            Self::Combine => "combine the workspaces",
            Self::SelectChannels => "choose channels of the workspace",
        }
    }

    /// What the result is: `pruned`, `renamed`, `combined` or `masked`.
    #[must_use]
    pub fn participle(self) -> &'static str {
        match self {
            Self::Prune => "pruned",
            Self::Rename => "renamed",
            Self::Combine => "combined",
            Self::SelectChannels => "masked",
        }
    }
}

/// Changes and warnings while they are being collected.
#[derive(Default)]
pub(super) struct Log {
    pub(super) changes: Vec<Change>,
    pub(super) report: Report,
}

impl Log {
    /// A log that begins with what was left out or added when the workspace was read, because the result is written without it.
    pub(super) fn of(workspace: &Workspace) -> Self {
        Self { report: workspace.notes.clone(), ..Self::default() }
    }

    /// Adds a change.
    pub(super) fn change(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.changes.push(Change { path: path.into(), message: message.into() });
    }

    /// Stops at errors.
    pub(super) fn check(&mut self, operation: Operation) -> Result<(), WorkspaceError> {
        if self.report.has_errors() {
            let report = std::mem::take(&mut self.report);
            return Err(WorkspaceError::CannotEdit { operation, report });
        }
        Ok(())
    }

    /// Numbers the new document and makes sure that a valid input did not become invalid.
    ///
    /// A workspace that had errors before may keep some: removing the faulty part of a workspace
    /// is one way of repairing it, and may take several steps.
    pub(super) fn finish(
        mut self,
        operation: Operation,
        usable_before: bool,
        mut document: Document,
    ) -> Result<Edited, WorkspaceError> {
        document.number();
        let state = State::of(&document);
        if !state.usable() {
            if usable_before {
                return Err(WorkspaceError::InvalidAfterEdit { operation, report: state.errors() });
            }
            self.report.warn(
                String::new(),
                format!("The {} workspace still has errors.", operation.participle()),
                "Validate it to see them.",
            );
        } else {
            for (name, errors) in state.measurements.iter().filter(|(_, errors)| errors.has_errors()) {
                let first = errors.errors().next().map(Problem::paragraph).unwrap_or_default();
                self.report.warn(
                    String::new(),
                    format!("Measurement {} of the result has no model. {first}", quoted(name)),
                    "",
                );
            }
        }
        Ok(Edited {
            workspace: Workspace::of(document),
            changes: self.changes,
            warnings: self.report.problems,
        })
    }
}

/// Whether models can be built from a document.
struct State {
    /// Problems of every measurement.
    shared: Report,
    /// Problems of single measurements.
    measurements: Vec<(String, Report)>,
}

impl State {
    fn of(document: &Document) -> Self {
        let mut shared = Report::default();
        rules::check(document, &mut shared);
        let declared = declare(document, &mut shared);
        let each = |measurement: &super::super::document::Measurement| {
            let mut report = Report::default();
            resolve(document, measurement, &declared, &mut report);
            (measurement.name.clone(), report)
        };
        Self { shared, measurements: document.measurements.iter().map(each).collect() }
    }

    /// True if at least one measurement has a model.
    fn usable(&self) -> bool {
        !self.shared.has_errors() && self.measurements.iter().any(|(_, report)| !report.has_errors())
    }

    fn errors(self) -> Report {
        let mut errors = Report::default();
        for mut report in std::iter::once(self.shared).chain(self.measurements.into_iter().map(|m| m.1)) {
            report.problems.retain(|p| p.severity == super::super::problem::Severity::Error);
            errors.extend(report);
        }
        errors
    }
}

/// True if at least one measurement of the document has a model.
pub(super) fn usable(document: &Document) -> bool {
    State::of(document).usable()
}
