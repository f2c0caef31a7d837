//! Shared code of the commands whose result is a workspace. The workspace is written to a file or to standard
//! output, where another program can read it. The report of the changes is written to standard error.

use std::path::{Path, PathBuf};

use clap::Args;
use ns_translate::pyhf::{Edited, Operation, Problem, Workspace, WorkspaceError, to_text};
use serde::Serialize;

use crate::args::{Format, OutputArgs};
use crate::error::CliError;
use crate::load;
use crate::output::{Output, complain};

/// Flags that say where the workspace is written.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct DocumentArgs {
    /// Write the workspace to a file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// No report and no warnings on standard error
    #[arg(short, long)]
    quiet: bool,
}

impl DocumentArgs {
    /// Opens the output, before any work is done.
    ///
    /// # Errors
    /// If the file cannot be created, or standard output is closed.
    pub(crate) fn open(&self) -> Result<Output, CliError> {
        let format = Some(Format::Json);
        Output::open(&OutputArgs { output: self.output.clone(), format, quiet: self.quiet, verbose: false })
    }

    /// The file, if one is named.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.output.as_deref()
    }

    /// Prints one line to standard error, unless `--quiet` is given. The line is `verb`, a colon and `what`.
    pub(crate) fn say(&self, verb: &str, what: &str) {
        if !self.quiet {
            complain(verb, what);
        }
    }

    /// Prints the changes and warnings of an operation to standard error, unless `--quiet` is given.
    pub(crate) fn tell(&self, operation: Operation, edited: &Edited) {
        if self.quiet {
            return;
        }
        let verb = operation.participle();
        for change in &edited.changes {
            complain(verb, &change.to_string());
        }
        if edited.changes.is_empty() {
            complain(verb, "nothing");
        }
        for warning in edited.warnings.iter().map(Problem::paragraph) {
            complain("warning", warning.trim_end());
        }
    }
}

/// Reads a workspace from a file or from standard input.
///
/// # Errors
/// If the file cannot be read, or is not a valid workspace.
pub(crate) fn read(path: &Path) -> Result<Workspace, CliError> {
    load::json(path).and_then(|text| Workspace::from_slice(&text)).map_err(|source| failed(path, source))
}

/// Converts an error of the workspace file `path` to the error of the command.
pub(crate) fn failed(path: &Path, source: WorkspaceError) -> CliError {
    CliError::Workspace { origin: load::shown(path), source }
}

/// Writes the workspace as JSON text in the layout of [`to_text`].
///
/// # Errors
/// If the workspace cannot be written.
pub(crate) fn write(output: Output, workspace: &impl Serialize) -> Result<(), CliError> {
    output.deliver(&to_text(workspace)?)
}
