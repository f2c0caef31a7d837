//! Results as the command, Python and programs get them: what people read, and the JSON.
//!
//! Each result lays out its tables and its summary once, in the file of this folder that has its name. Whoever
//! shows them decides how: the command fits them to the terminal, Python makes plain text or HTML of them.

mod fit;
mod goodness;
mod hypotest;
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

/// A piece of what people read, from top to bottom.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Part {
    /// Lines of text.
    Text(String),
    /// A table.
    Table(Table),
    /// One wide table, or several parts that say the same where the wide one has no room.
    Either(Table, Vec<Part>),
}

/// A table of texts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Table {
    /// Its columns, from the left.
    pub columns: Vec<Column>,
    /// Its rows, with one cell for each column.
    pub rows: Vec<Vec<String>>,
    /// Whether it may be shown as several blocks of columns, each with the first column.
    pub splits: bool,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// What stands above it.
    pub title: String,
    /// Whether it holds numbers: they are aligned to the right and never broken.
    pub numbers: bool,
}

impl Table {
    /// A table without rows; `numbers` are the columns that hold numbers.
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

/// What ran and how long: the keys that all results have in common.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunInfo {
    /// The device.
    pub device: Option<String>,
    /// Why it is this one, where `auto` chose.
    pub device_reason: Option<String>,
    /// How the fits of a GPU compare with the CPU's.
    pub gpu_check: Option<GpuCheck>,
    /// Interpolation codes of the model, in words.
    pub interpolation: Option<String>,
    /// Fingerprint of the likelihood.
    pub model_digest: Option<String>,
    /// Seconds of wall time.
    pub wall_s: Option<f64>,
}

impl RunInfo {
    /// Work of the CPU that needed no session.
    #[must_use]
    pub fn without_session(started: Instant) -> Self {
        let device = Some(Device::Cpu.to_string());
        Self { device, wall_s: Some(started.elapsed().as_secs_f64()), ..Self::default() }
    }

    /// What ran on a session; `reason` says why it is on its device if `auto` chose.
    #[must_use]
    pub fn on(session: &dyn Session, reason: Option<String>, started: Instant) -> Self {
        Self {
            device: Some(session.device().to_string()),
            device_reason: reason,
            gpu_check: GpuCheck::of(session),
            wall_s: Some(started.elapsed().as_secs_f64()),
            ..Self::default()
        }
    }

    /// The same with the model that it was about and the model's fingerprint.
    #[must_use]
    pub fn about(self, model: &Model, digest: String) -> Self {
        let interpolation = Some(model.interpolation.to_string());
        Self { interpolation, model_digest: Some(digest), ..self }
    }

    /// Time and device in words: `3.1 ms on cpu`, with what was checked where a GPU ran.
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

    /// The last lines below a result: the measurement, time and device, interpolation.
    #[must_use]
    pub fn closing(&self, measurement: &str) -> Part {
        let mut text = format!("measurement {measurement}, {}", self.time_and_device());
        if let Some(codes) = &self.interpolation {
            text.push_str(&format!("\ninterpolation: {codes}"));
        }
        Part::Text(text)
    }
}

/// A result with everything that is shown of it. Serialises to its JSON: the keys of the result, then those of
/// [`RunInfo`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report<R: Serialize> {
    /// The result.
    #[serde(flatten)]
    pub result: R,
    /// What ran.
    #[serde(flatten)]
    pub ran: RunInfo,
    /// What people read.
    #[serde(skip)]
    pub parts: Vec<Part>,
}
