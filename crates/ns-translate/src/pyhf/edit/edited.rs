//! The result of an operation on workspaces, and the check of this result.

use std::fmt;

use ns_core::Interpolation;

use super::super::declare::declare;
use super::super::document::Document;
use super::super::error::WorkspaceError;
use super::super::names::quoted;
use super::super::problem::{Problem, Report};
use super::super::rules;
use super::super::settings::resolve;
use super::super::workspace::Workspace;

/// The new workspace that an operation made, with a list of the changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Edited {
    /// The resulting workspace.
    pub workspace: Workspace,
    /// The changes, in the order in which the operation made them.
    pub changes: Vec<Change>,
    /// Warnings about consequences of the operation that may not have been intended.
    pub warnings: Vec<Problem>,
}

/// One change that an operation made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// JSON pointer to the changed item in the input; empty for the whole document.
    pub path: String,
    /// Description of the changed item, without a verb. The operation determines the verb: pruned, renamed
    /// and so on.
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

/// An operation that makes a new workspace from one or two workspaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// The operation [`Workspace::prune`].
    Prune,
    /// The operation [`Workspace::rename`].
    Rename,
    /// The operation [`Workspace::decorrelate`].
    Decorrelate,
    /// The operation [`Workspace::combine`].
    Combine,
    /// The operation [`Workspace::select_channels`].
    SelectChannels,
}

impl Operation {
    /// Returns the infinitive of the operation, for messages that it cannot be carried out.
    pub(crate) fn infinitive(self) -> &'static str {
        match self {
            Self::Prune => "prune the workspace",
            Self::Rename => "rename in the workspace",
            Self::Decorrelate => "decorrelate in the workspace",
            Self::Combine => "combine the workspaces",
            Self::SelectChannels => "choose channels of the workspace",
        }
    }

    /// Returns the participle that describes the result: `pruned`, `renamed`, `decorrelated`, `combined` or `masked`.
    #[must_use]
    pub fn participle(self) -> &'static str {
        match self {
            Self::Prune => "pruned",
            Self::Rename => "renamed",
            Self::Decorrelate => "decorrelated",
            Self::Combine => "combined",
            Self::SelectChannels => "masked",
        }
    }
}

/// The changes and problems collected during an operation.
#[derive(Default)]
pub(super) struct Log {
    pub(super) changes: Vec<Change>,
    pub(super) report: Report,
}

impl Log {
    /// Creates a log that begins with the warnings from reading the workspace. They are kept here because the
    /// result of the operation no longer contains the parts that these warnings are about.
    pub(super) fn of(workspace: &Workspace) -> Self {
        Self { report: workspace.notes.clone(), ..Self::default() }
    }

    /// Adds a change.
    pub(super) fn change(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.changes.push(Change { path: path.into(), message: message.into() });
    }

    /// Returns an error if at least one of the problems that were collected is an error.
    pub(super) fn check(&mut self, operation: Operation) -> Result<(), WorkspaceError> {
        if self.report.has_errors() {
            let report = std::mem::take(&mut self.report);
            return Err(WorkspaceError::CannotEdit { operation, report });
        }
        Ok(())
    }

    /// Finishes an operation: gives each element of the new document its index, and returns the result.
    /// `usable_before` says whether a model could be built from the input. If so, the result must have a model too.
    ///
    /// If not, the result may have errors like the input, because a repair may need several operations that remove
    /// faulty parts.
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

/// The problems that prevent models from being built from a document.
struct State {
    /// Problems that concern every measurement.
    shared: Report,
    /// Names of the measurements, each with the problems that concern only this measurement.
    measurements: Vec<(String, Report)>,
}

impl State {
    fn of(document: &Document) -> Self {
        let mut shared = Report::default();
        rules::check(document, Interpolation::default().normsys, &mut shared);
        rules::check_observed(document, &mut shared);
        let declared = declare(document, &mut shared);
        let each = |measurement: &super::super::document::Measurement| {
            let mut report = Report::default();
            resolve(document, measurement, &declared, &mut report);
            (measurement.name.clone(), report)
        };
        Self { shared, measurements: document.measurements.iter().map(each).collect() }
    }

    /// Returns whether a model can be built for at least one measurement.
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

/// Returns whether a model can be built for at least one measurement of the document.
pub(super) fn usable(document: &Document) -> bool {
    State::of(document).usable()
}
