//! The JSON of every command: its own keys and the common ones.

use std::io::{self, Write};
use std::time::Instant;

use ns_core::{Device, Model, Session};
use ns_inference::GpuCheck;
use ns_inference::toys::ToyOrigin;
use serde::Serialize;
use serde_json::ser::Formatter;

use crate::table::count;

/// The device that ran, and its check.
#[derive(Debug, Clone)]
pub(crate) struct RunInfo {
    device: Device,
    reason: Option<String>,
    check: Option<GpuCheck>,
}

impl RunInfo {
    /// The CPU, without a session.
    pub(crate) const HERE: Self = Self { device: Device::Cpu, reason: None, check: None };

    /// A session's device, why it was chosen if it was, and how it compares with the CPU.
    pub(crate) fn on(session: &dyn Session, reason: Option<&String>) -> Self {
        Self { device: session.device(), reason: reason.cloned(), check: GpuCheck::of(session) }
    }

    /// The device as text, with the check of a GPU.
    pub(crate) fn device(&self) -> String {
        match &self.check {
            None => self.device.to_string(),
            Some(check) => format!(
                "{} ({} of {} checked on the CPU{})",
                self.device,
                check.n_checked,
                count(usize::try_from(check.n_fits).unwrap_or(usize::MAX), "fit"),
                check
                    .nll
                    .map_or_else(String::new, |nll| format!(", largest difference {:.1e}", nll.difference))
            ),
        }
    }
}

/// A command's result with the common keys; `warnings` is among the body's.
#[derive(Debug, Serialize)]
pub(crate) struct Record<'a, T: Serialize> {
    #[serde(flatten)]
    body: &'a T,
    device: String,
    device_reason: Option<String>,
    gpu_check: Option<GpuCheck>,
    interpolation: Option<String>,
    model_digest: Option<String>,
    wall_s: f64,
}

impl<'a, T: Serialize> Record<'a, T> {
    /// Adds the common keys; those of the model are null where there is none.
    pub(crate) fn new(body: &'a T, ran: RunInfo, model: Option<&Model>, started: Instant) -> Self {
        Self {
            body,
            device: ran.device.to_string(),
            device_reason: ran.reason,
            gpu_check: ran.check,
            interpolation: model.map(|m| m.interpolation.to_string()),
            model_digest: model.map(Model::digest),
            wall_s: started.elapsed().as_secs_f64(),
        }
    }

    /// Adds the common keys to a result that was read from files.
    pub(crate) fn of_files(body: &'a T, origin: &ToyOrigin, started: Instant) -> Self {
        Self {
            body,
            device: Device::Cpu.to_string(),
            device_reason: None,
            gpu_check: None,
            interpolation: Some(origin.interpolation.clone()),
            model_digest: Some(origin.model_digest.clone()),
            wall_s: started.elapsed().as_secs_f64(),
        }
    }

    /// Seconds since the command started.
    pub(crate) fn seconds(&self) -> f64 {
        self.wall_s
    }
}

/// JSON text with one line for each key of the outermost object: readable, and no longer than it must be.
///
/// # Errors
/// If a map key is not a text.
pub(crate) fn to_json(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(1 << 16);
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, Outline::default()))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Breaks lines at depth one only.
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
