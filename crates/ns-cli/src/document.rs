//! Commands whose result is a workspace. The document is written to standard output, so that it can be piped,
//! and a report of the changes to standard error.

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

/// Where the document is written.
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
    /// Opens the output before the work.
    ///
    /// # Errors
    /// If the file cannot be created.
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

    /// Prints what an operation did, unless `--quiet` is given.
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

/// Reads a workspace.
///
/// # Errors
/// If there is none.
pub(crate) fn read(path: &Path) -> Result<Workspace, CliError> {
    load::read(path).and_then(|text| Workspace::from_slice(&text)).map_err(|source| failed(path, source))
}

/// An error with the file that it is about.
pub(crate) fn failed(path: &Path, source: WorkspaceError) -> CliError {
    CliError::Workspace { origin: load::shown(path), source }
}

/// Writes the workspace.
///
/// # Errors
/// If it cannot be written.
pub(crate) fn write(output: Output, workspace: &impl Serialize) -> Result<(), CliError> {
    let mut bytes = Vec::with_capacity(1 << 16);
    workspace.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, Lines::default()))?;
    bytes.push(b'\n');
    output.deliver(&bytes)
}

/// Writes one line for each object in an array and each key of the outermost object. So each modifier has
/// a line, arrays of numbers stay on one line, and versions of a file can be compared line by line.
#[derive(Default)]
struct Lines {
    depth: usize,
    /// Innermost container: true for an array.
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
