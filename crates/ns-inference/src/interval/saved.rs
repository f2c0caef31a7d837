//! Intervals whose toys are saved, so that an interrupted search is continued.

use ns_core::{Control, Model, Session};
use serde_json::{Value, json};
use thiserror::Error;

use super::blocks::{Block, Drawn, Store};
use super::region::search_region;
use super::{IntervalOptions, IntervalResult, RegionOptions, RegionResult, search_interval};
use crate::InferenceError;
use crate::analysis::Analysis;
use crate::row_file::{RowFile, RowFileError, RowHeader, RowRecording, SavedRow};
use crate::toys::SAME_STATISTIC;

impl SavedRow for Block {
    const KIND: &'static str = "interval toys";
    const OF: &'static str = "an interval";
}

/// Why an interval with saved toys has no result.
#[derive(Debug, Error)]
pub enum SavedIntervalError {
    /// The file of toys cannot be written or read.
    #[error(transparent)]
    File(#[from] RowFileError),
    /// The interval could not be found.
    #[error(transparent)]
    Inference(#[from] InferenceError),
}

/// Finds an interval like [`super::interval`], and saves the counts of its toys in `file`. Counts that an earlier run has
/// saved are not made again. They serve every confidence level and every number of toys.
///
/// # Errors
/// The errors of [`super::interval`], and if the file cannot be written, or belongs to another model, other data, another
/// seed or other settings.
pub fn interval_saved(
    model: &Model,
    session: &dyn Session,
    options: &IntervalOptions,
    file: RowFile,
    control: Control<'_>,
) -> Result<IntervalResult, SavedIntervalError> {
    let mut saved = Saved::new(file);
    let result = search_interval((model, session), options, control, &mut saved);
    saved.finish(result)
}

/// Finds a region like [`super::region()`], and saves the counts of its toys as [`interval_saved`] does.
///
/// # Errors
/// The errors of [`super::region()`] and of the file.
pub fn region_saved(
    model: &Model,
    session: &dyn Session,
    options: &RegionOptions,
    file: RowFile,
    control: Control<'_>,
) -> Result<RegionResult, SavedIntervalError> {
    let mut saved = Saved::new(file);
    let result = search_region((model, session), options, control, &mut saved);
    saved.finish(result)
}

/// Everything on which the counts of a block depend, except what the block contains.
fn header(analysis: &Analysis<'_>, names: &[&str], (nuisance, seed): Drawn) -> RowHeader {
    let model = analysis.model;
    let name = |i: usize| model.parameters.get(i).map_or_else(String::new, |p| p.name.clone());
    let fixed: RowHeader = analysis.base.fixed.iter().map(|&(i, value)| (name(i), json!(value))).collect();
    let param = if let [one] = names { json!(one) } else { json!(names) };
    let entries: [(&str, Value); 11] = [
        ("version", json!(env!("CARGO_PKG_VERSION"))),
        ("model_digest", json!(model.digest())),
        ("data_digest", json!(analysis.data.counts(model).digest())),
        ("interpolation", json!(model.interpolation.to_string())),
        ("samplers", json!(ns_core::random::SAMPLERS)),
        ("seed", json!(seed)),
        ("nuisance", json!(nuisance)),
        ("fixed", json!(fixed)),
        ("search", json!(analysis.base.search.name())),
        ("integral_tolerance", json!(analysis.base.integral_tolerance)),
        ("param", param),
    ];
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The blocks of an earlier run, and the file that takes the new ones. An error of the file is kept, and ends the search.
struct Saved {
    /// The file before the search begins.
    file: Option<RowFile>,
    recording: Option<RowRecording<Block>>,
    earlier: Vec<Block>,
    failure: Option<RowFileError>,
}

impl Saved {
    fn new(file: RowFile) -> Self {
        Self { file: Some(file), recording: None, earlier: Vec::new(), failure: None }
    }

    /// Keeps the cause of a failure. The search ends as if it were cancelled.
    fn failed(&mut self, error: RowFileError) -> InferenceError {
        self.failure = Some(error);
        InferenceError::Cancelled
    }

    /// Writes the last rows, and returns the result of the search.
    fn finish<R>(self, result: Result<R, InferenceError>) -> Result<R, SavedIntervalError> {
        if let Some(failure) = self.failure {
            return Err(failure.into());
        }
        if let Some(recording) = self.recording {
            recording.finish()?;
        }
        Ok(result?)
    }
}

impl Store for Saved {
    fn begin(&mut self, analysis: &Analysis<'_>, names: &[&str], drawn: Drawn) -> Result<(), InferenceError> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let (mut recording, earlier) =
            file.begin(header(analysis, names, drawn)).map_err(|error| self.failed(error))?;
        recording.keep(earlier.clone());
        (self.recording, self.earlier) = (Some(recording), earlier);
        Ok(())
    }

    fn known(&self, values: &[f64], t: f64, first: u64, most: u64) -> Option<Block> {
        let same = |block: &&Block| {
            let near = (block.t - t).abs() <= SAME_STATISTIC * (1.0 + t);
            block.values == values && near && block.first == first && (1..=most).contains(&block.n_toys)
        };
        self.earlier.iter().find(same).cloned()
    }

    fn add(&mut self, block: &Block) -> Result<(), InferenceError> {
        let added = self.recording.as_mut().map_or(Ok(()), |recording| recording.add(block.clone()));
        added.map_err(|error| self.failed(error))
    }
}
