//! Shared code of the commands whose result is a workspace. The workspace is written to a file or to standard
//! output, where another program can read it. The report of the changes is written to standard error.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::Args;
use ns_translate::Axes;
use ns_translate::pyhf::{Edited, Operation, Problem, Workspace, WorkspaceError, to_text};
use serde::Serialize;

use crate::args::{Format, OutputArgs};
use crate::error::CliError;
use crate::load;
use crate::output::{Output, PendingFile, complain};

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

/// Reads a workspace from a file or from standard input, with the axes of its channels.
///
/// # Errors
/// If the file cannot be read, or is not a valid workspace.
pub(crate) fn read(path: &Path) -> Result<(Workspace, Axes), CliError> {
    let (text, axes) = text(path)?;
    let workspace = Workspace::from_slice(&text).map_err(|source| failed(path, source))?;
    Ok((workspace, axes))
}

/// Reads a workspace as JSON text from a file or from standard input, with the axes of its channels: those of the file
/// beside it, and those of the histograms from which it is made.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn text(path: &Path) -> Result<(Vec<u8>, Axes), CliError> {
    let text = load::text(path).map_err(|source| failed(path, source))?;
    for warning in text.warnings.iter().map(Problem::paragraph) {
        complain("warning", warning.trim_end());
    }
    let axes = load::axes_beside(path);
    if let Some(why) = axes.unread() {
        complain("warning", why);
    }
    Ok((text.json, axes.united(&text.axes)))
}

/// Converts an error of the workspace file `path` to the error of the command.
pub(crate) fn failed(path: &Path, source: WorkspaceError) -> CliError {
    CliError::Workspace { origin: load::shown(path), source }
}

/// Writes the workspace as JSON text in the layout of [`to_text`], and the axes of its channels beside it, if it is a file.
/// `input` is the file of the workspace from which this one is made.
///
/// # Errors
/// If the workspace or the axes cannot be written.
pub(crate) fn write(
    args: &DocumentArgs,
    output: Output,
    workspace: &impl Serialize,
    (axes, input): (&Axes, &Path),
) -> Result<(), CliError> {
    output.deliver(&to_text(workspace)?)?;
    let Some(path) = args.path().filter(|path| !load::is_stdin(path)) else { return Ok(()) };
    // Axes that cannot be read may be the work of a user.
    let own = Axes::place_beside(path) == Axes::place_beside(input);
    if axes.is_empty() && own {
        return Ok(());
    }
    write_axes(path, axes)
}

/// Writes axes beside a workspace. Those of an earlier workspace of this name are replaced or removed.
///
/// # Errors
/// If the file cannot be written or removed.
pub(crate) fn write_axes(workspace: &Path, axes: &Axes) -> Result<(), CliError> {
    let Some(place) = Axes::place_beside(workspace) else { return Ok(()) };
    match axes.to_json() {
        Some(text) => PendingFile::create(&place)?.finish(format!("{text}\n").as_bytes()),
        None => match std::fs::remove_file(&place) {
            Err(source) if source.kind() != ErrorKind::NotFound => {
                Err(CliError::Write { path: place, source })
            }
            _ => Ok(()),
        },
    }
}
