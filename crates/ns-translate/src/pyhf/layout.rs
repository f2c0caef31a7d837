//! The layout of workspaces as JSON text.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

/// Returns a workspace as JSON text. Each object in an array and each key of the outermost object has its own
/// line, and the text ends with a newline. The commands that make workspaces write them in this layout.
///
/// # Errors
/// If a key of a map is not a string.
pub fn to_text(workspace: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(1 << 16);
    workspace.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, Lines::default()))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// JSON layout with one line for each object in an array and for each key of the outermost object. Each
/// modifier then has its own line, and arrays of numbers stay on one line. Versions of a file can be compared
/// line by line.
#[derive(Default)]
struct Lines {
    depth: usize,
    /// Whether each open container is an array (true) or an object (false), from the outermost to the innermost
    /// container.
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
