//! Reports of results: the tables and texts that people read, and the JSON that programs read.
//!
//! Each type of result has a file in this folder that builds its tables and texts. The caller decides how to show the
//! tables. The command line fits them to the width of the terminal, and Python converts them to text or HTML.

mod blue;
mod compatibility;
mod document;
mod fit;
mod flow;
mod goodness;
mod grid;
pub mod hepdata;
mod hypotest;
mod injection;
mod interval;
mod joint_ranking;
mod json;
mod limit;
mod look_elsewhere;
mod per_poi;
mod posterior;
mod ranking;
mod region;
mod scan;
mod simplify;
mod spurious;
mod toys;
mod unfold;
mod yields;

use std::time::Instant;

use ns_core::{Device, Model, Session};
use serde::{Deserialize, Serialize};

use crate::Blind;
use crate::device::GpuCheck;
use crate::present::count;

pub use document::{DocumentFormat, html_escaped, html_table, html_text};
pub use flow::FlowRun;
pub use joint_ranking::joint_ranking;
pub use json::to_json;
pub use per_poi::PerPoi;

/// A part of a report. The parts of a report are shown from top to bottom.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Part {
    /// Lines of text.
    Text(String),
    /// A single table, shown at any width.
    Table(Table),
    /// A wide table, and other parts with the same content. If a display is too narrow for the table, it shows the
    /// other parts instead.
    Either(Table, Vec<Part>),
    /// A table, and the same numbers arranged for a document: tables with their titles, which may be empty.
    Arranged {
        /// The table for a display.
        screen: Table,
        /// The tables for a document.
        document: Vec<(String, Table)>,
    },
}

/// A table whose cells are texts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Table {
    /// Columns from left to right.
    pub columns: Vec<Column>,
    /// Rows of the table. Each row has one text for each column.
    pub rows: Vec<Vec<String>>,
    /// Whether a narrow display may split the table into blocks of columns. The first column is then repeated in
    /// every block.
    pub splits: bool,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Heading of the column.
    pub title: String,
    /// Whether the column contains numbers. Numbers are aligned to the right and are not broken into lines.
    pub numbers: bool,
}

impl Table {
    /// Creates a table without rows. `numbers` are the indices of the columns that contain numbers.
    #[must_use]
    pub fn new<T: AsRef<str>>(titles: &[T], numbers: &[usize]) -> Self {
        let column = |(i, title): (usize, &T)| Column {
            title: title.as_ref().to_owned(),
            numbers: numbers.contains(&i),
        };
        Self { columns: titles.iter().enumerate().map(column).collect(), ..Self::default() }
    }

    /// Adds a row of cells, one per column.
    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) -> &mut Self {
        self.rows.push(cells.into_iter().map(Into::into).collect());
        self
    }
}

/// Returns a text about the choice of the device. The text contains `reason`, the reason for this choice. If a GPU left
/// fits to the CPU, the text also gives the reason why the CPU made these fits.
fn device_reason(session: &dyn Session, reason: Option<String>) -> Option<String> {
    let left = session.left_to_cpu().map(|why| format!("the CPU made the fits, because {why}"));
    match (reason, left) {
        (Some(reason), Some(left)) => Some(format!("{reason}; {left}")),
        (reason, left) => reason.or(left),
    }
}

/// Information about a run: device, duration and model. The fields of this struct are keys in the JSON of every result.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RunInfo {
    /// Name of the device that ran the fits; `None` if there were several devices.
    pub device: Option<String>,
    /// Reason for the choice of the device: why the option `auto` chose it, or why a requested GPU left fits to the
    /// CPU. `None` if there is nothing to explain.
    pub device_reason: Option<String>,
    /// Comparison of the results of fits on a GPU with evaluations on the CPU at the same parameters. `None` if the CPU
    /// made the fits.
    pub gpu_check: Option<GpuCheck>,
    /// Provider and precision of each flow (density given by a neural network) of the model; `None` for models without
    /// flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub flows: Option<Vec<FlowRun>>,
    /// Channels whose data are expected data, and not the observed ones; `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub blind: Option<Blind>,
    /// Interpolation codes of the model, as text.
    pub interpolation: Option<String>,
    /// Digest of the model's likelihood. Models with the same likelihood have the same digest.
    pub model_digest: Option<String>,
    /// Wall time of the run, in seconds.
    pub wall_s: Option<f64>,
}

impl RunInfo {
    /// Creates the information about a run that needed no session, such as work on files. Such work runs on the CPU.
    /// `started` is the start time.
    #[must_use]
    pub fn without_session(started: Instant) -> Self {
        let device = Some(Device::Cpu.to_string());
        Self { device, wall_s: Some(started.elapsed().as_secs_f64()), ..Self::default() }
    }

    /// Creates the information about a run on a session. `started` is the start time. `reason` is the reason why the
    /// option `auto` chose the device; `None` if the user chose it.
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

    /// Adds information about the model: its interpolation codes, the providers of its flows, and `digest`, the
    /// digest of its likelihood.
    #[must_use]
    pub fn about(self, model: &Model, digest: String) -> Self {
        let interpolation = Some(model.interpolation.to_string());
        Self { interpolation, flows: FlowRun::all(model), model_digest: Some(digest), ..self }
    }

    /// Adds the blinded channels of an analysis.
    #[must_use]
    pub fn blinded(self, blind: Option<&Blind>) -> Self {
        Self { blind: blind.cloned(), ..self }
    }

    /// Returns the wall time and the device as text, for example `3.1 ms on cpu`. For a GPU, the text also gives the
    /// number of fits that the CPU checked.
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

    /// Returns the last lines of a report: the measurement, the time, the device, the interpolation codes, and the
    /// providers of flows on a GPU. `measurement` is the name of the measurement.
    #[must_use]
    pub fn closing(&self, measurement: &str) -> Part {
        let mut text = format!("measurement {measurement}, {}", self.time_and_device());
        if let Some(codes) = &self.interpolation {
            text.push_str(&format!("\ninterpolation: {codes}"));
        }
        if let Some(blind) = &self.blind {
            text.push_str(&format!("\n{}", blind.note()));
        }
        for line in self.flows.iter().flatten().filter_map(FlowRun::line) {
            text.push('\n');
            text.push_str(&line);
        }
        Part::Text(text)
    }
}

/// A result, the information about its run, and its tables and texts. Serialises to the JSON for users: first the
/// keys of the result, then the keys of [`RunInfo`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report<R: Serialize> {
    /// Result of the analysis.
    #[serde(flatten)]
    pub result: R,
    /// Information about the run.
    #[serde(flatten)]
    pub ran: RunInfo,
    /// Tables and texts that are shown for the result.
    #[serde(skip)]
    pub parts: Vec<Part>,
}
