//! Reports of results: the tables and texts that people read, and the JSON that programs read.
//!
//! Each kind of result has its tables and texts in the file of this folder with its name. The caller decides
//! how to show them: the command fits them to the terminal, and Python converts them to text or HTML.

mod fit;
mod flow;
mod goodness;
mod hypotest;
mod json;
mod limit;
mod ranking;
mod scan;
mod toys;
mod yields;

use std::time::Instant;

use ns_core::{Device, Model, Session};
use serde::{Deserialize, Serialize};

use crate::device::GpuCheck;
use crate::present::count;

pub use flow::FlowRun;
pub use json::to_json;

/// A part of a report. The parts of a report are shown from top to bottom.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Part {
    /// Lines of text.
    Text(String),
    /// A table.
    Table(Table),
    /// A wide table, and several parts with the same content for a display that is too narrow for this table.
    Either(Table, Vec<Part>),
}

/// A table whose cells are texts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Table {
    /// Columns from left to right.
    pub columns: Vec<Column>,
    /// Rows with one cell for each column.
    pub rows: Vec<Vec<String>>,
    /// Whether a narrow display may split the table into blocks of columns. Every block repeats the first
    /// column.
    pub splits: bool,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Heading of the column.
    pub title: String,
    /// Whether the column holds numbers, which are aligned to the right and never broken into lines.
    pub numbers: bool,
}

impl Table {
    /// Creates a table without rows. `numbers` lists the indices of the columns that hold numbers.
    #[must_use]
    pub fn new<T: AsRef<str>>(titles: &[T], numbers: &[usize]) -> Self {
        let column = |(i, title): (usize, &T)| Column {
            title: title.as_ref().to_owned(),
            numbers: numbers.contains(&i),
        };
        Self { columns: titles.iter().enumerate().map(column).collect(), ..Self::default() }
    }

    /// Adds a row.
    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) -> &mut Self {
        self.rows.push(cells.into_iter().map(Into::into).collect());
        self
    }
}

/// Returns `reason`. If a GPU left fits to the CPU, adds the reason for this.
fn device_reason(session: &dyn Session, reason: Option<String>) -> Option<String> {
    let left = session.left_to_cpu().map(|why| format!("the CPU made the fits, because {why}"));
    match (reason, left) {
        (Some(reason), Some(left)) => Some(format!("{reason}; {left}")),
        (reason, left) => reason.or(left),
    }
}

/// Device, duration and model of a run: the keys that the JSON of all results has in common.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunInfo {
    /// Name of the device that ran the fits.
    pub device: Option<String>,
    /// Reason for this device, if `auto` chose it, and the reason why a requested GPU left fits to the CPU.
    pub device_reason: Option<String>,
    /// Comparison of fits made on a GPU with evaluations on the CPU; `None` if the fits were made on the CPU.
    pub gpu_check: Option<GpuCheck>,
    /// Provider and precision of each flow of the model; left out for models without flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<FlowRun>>,
    /// Interpolation codes of the model, in words.
    pub interpolation: Option<String>,
    /// Fingerprint of the model's likelihood.
    pub model_digest: Option<String>,
    /// Wall time of the run in seconds.
    pub wall_s: Option<f64>,
}

impl RunInfo {
    /// Creates the information about work that needed no session, for example on files. It ran on the CPU and
    /// began at `started`.
    #[must_use]
    pub fn without_session(started: Instant) -> Self {
        let device = Some(Device::Cpu.to_string());
        Self { device, wall_s: Some(started.elapsed().as_secs_f64()), ..Self::default() }
    }

    /// Creates the information about work on a session that began at `started`. `reason` is the reason for the
    /// device, if `auto` chose it.
    #[must_use]
    pub fn on(session: &dyn Session, reason: Option<String>, started: Instant) -> Self {
        Self {
            device: Some(session.device().to_string()),
            device_reason: device_reason(session, reason),
            gpu_check: GpuCheck::of(session),
            wall_s: Some(started.elapsed().as_secs_f64()),
            ..Self::default()
        }
    }

    /// Adds the interpolation codes of the model, the providers of its flows, and the fingerprint of its
    /// likelihood, `digest`.
    #[must_use]
    pub fn about(self, model: &Model, digest: String) -> Self {
        let interpolation = Some(model.interpolation.to_string());
        Self { interpolation, flows: FlowRun::all(model), model_digest: Some(digest), ..self }
    }

    /// Returns wall time and device as text, as in `3.1 ms on cpu`. For a GPU the text also says how many fits
    /// were checked on the CPU.
    #[must_use]
    pub fn time_and_device(&self) -> String {
        let device = self.device.as_deref().unwrap_or("several devices");
        let checked = self.gpu_check.map_or_else(String::new, |check| {
            let fits = count(usize::try_from(check.n_fits).unwrap_or(usize::MAX), "fit");
            let largest = check
                .nll
                .map_or_else(String::new, |nll| format!(", largest difference {:.1e}", nll.difference));
            format!(" ({} of {fits} checked on the CPU{largest})", check.n_checked)
        });
        match self.wall_s {
            Some(seconds) => format!("{:.1} ms on {device}{checked}", 1e3 * seconds),
            None => format!("on {device}{checked}"),
        }
    }

    /// Returns the last lines of a report: measurement, time and device, interpolation.
    #[must_use]
    pub fn closing(&self, measurement: &str) -> Part {
        let mut text = format!("measurement {measurement}, {}", self.time_and_device());
        if let Some(codes) = &self.interpolation {
            text.push_str(&format!("\ninterpolation: {codes}"));
        }
        for line in self.flows.iter().flatten().filter_map(FlowRun::line) {
            text.push('\n');
            text.push_str(&line);
        }
        Part::Text(text)
    }
}

/// A result with the information about its run, and the tables and texts shown for the result. Serialises to the JSON
/// for users: first the keys of the result, then the keys of [`RunInfo`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report<R: Serialize> {
    /// Result of the analysis.
    #[serde(flatten)]
    pub result: R,
    /// Information about the run.
    #[serde(flatten)]
    pub ran: RunInfo,
    /// Tables and texts shown for the result.
    #[serde(skip)]
    pub parts: Vec<Part>,
}
