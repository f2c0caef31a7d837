//! Shared code of the commands whose result is a workspace. The workspace goes to a file or to standard
//! output, so that it can be piped. A report of the changes goes to standard error.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use ns_translate::pyhf::{Edited, Operation, Problem, Workspace, WorkspaceError};
use serde::Serialize;
use serde_json::ser::Formatter;

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
    #[arg(long)]
    quiet: bool,
}

impl DocumentArgs {
    /// Opens the output, before any work is done.
    ///
    /// # Errors
    /// If the file cannot be created, or standard output is closed.
    pub(crate) fn open(&self) -> Result<Output, CliError> {
        let format = Some(Format::Json);
        Output::open(&OutputArgs { output: self.output.clone(), format, quiet: self.quiet })
    }

    /// Prints one line to standard error, unless `--quiet` is given.
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
    load::read(path).and_then(|text| Workspace::from_slice(&text)).map_err(|source| failed(path, source))
}

/// Converts an error of the workspace in the file `path` into the error that the command returns.
pub(crate) fn failed(path: &Path, source: WorkspaceError) -> CliError {
    CliError::Workspace { origin: load::shown(path), source }
}

/// Writes the workspace as JSON in the layout of [`Lines`].
///
/// # Errors
/// If the workspace cannot be written.
pub(crate) fn write(output: Output, workspace: &impl Serialize) -> Result<(), CliError> {
    let mut bytes = Vec::with_capacity(1 << 16);
    workspace.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, Lines::default()))?;
    bytes.push(b'\n');
    output.deliver(&bytes)
}

/// JSON layout with one line for each object in an array and for each key of the outermost object. Each
/// modifier then has its own line, arrays of numbers stay on one line, and versions of a file can be compared
/// line by line.
#[derive(Default)]
struct Lines {
    depth: usize,
    /// For each open container, from the outermost to the innermost, whether it is an array.
    array: Vec<bool>,
}

impl Lines {
    fn new_line<W: ?Sized + Write>(&self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| writer.write_all(b"  "))
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.array.push(true);
        writer.write_all(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.array.pop();
        writer.write_all(b"]")
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.array.last() == Some(&true) {
            self.new_line(writer)?;
        }
        self.array.push(false);
        self.depth += 1;
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.array.pop();
        self.depth -= 1;
        if self.depth == 0 {
            writer.write_all(b"\n")?;
        }
        writer.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        match (self.depth, first) {
            (1, _) => self.new_line(writer),
            (_, true) => Ok(()),
            (_, false) => writer.write_all(b" "),
        }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b",") }
    }
}
