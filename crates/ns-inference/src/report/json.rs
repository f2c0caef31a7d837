//! The layout in which results are written as JSON text.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

/// Returns the JSON text of a value. Each key of the outermost object is on its own line, and the text ends with a
/// newline. The command line writes results in this layout.
///
/// # Errors
/// If a key of a map is not a string.
pub fn to_json(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(1 << 16);
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, Outline::default()))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// JSON layout with line breaks only between the items of the outermost container.
#[derive(Default)]
struct Outline {
    depth: usize,
}

impl Outline {
    fn open<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        writer.write_all(bracket)
    }

    fn close<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if self.depth == 0 {
            writer.write_all(b"\n")?;
        }
        writer.write_all(bracket)
    }

    fn separate<W: ?Sized + Write>(&self, writer: &mut W, first: bool) -> io::Result<()> {
        match (self.depth, first) {
            (1, true) => writer.write_all(b"\n  "),
            (1, false) => writer.write_all(b",\n  "),
            (_, true) => Ok(()),
            (_, false) => writer.write_all(b", "),
        }
    }
}

impl Formatter for Outline {
    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"}")
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"]")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.separate(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.separate(writer, first)
    }
}
