//! Intervals whose toys are saved, so that an interrupted search is continued.

use ns_core::{Control, Model, Session};
use serde_json::{Value, json};
use thiserror::Error;

use super::blocks::{Block, Store};
use super::{IntervalOptions, IntervalResult, search_interval};
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
    let mut failure = None;
    let mut saved = None;
    let open = |analysis: &Analysis<'_>| match file.begin(header(analysis, options)) {
        Ok((mut recording, earlier)) => {
            recording.keep(earlier.clone());
            let store = saved.insert(Saved { recording, earlier });
            Ok(Borrowed { store, failure: &mut failure })
        }
        Err(error) => {
            failure = Some(error);
            Err(InferenceError::Cancelled)
        }
    };
    let result = search_interval((model, session), options, control, open);
    if let Some(failure) = failure {
        return Err(failure.into());
    }
    if let Some(Saved { recording, .. }) = saved {
        recording.finish()?;
    }
    Ok(result?)
}

/// Everything on which the counts of a block depend, except what the block contains.
fn header(analysis: &Analysis<'_>, options: &IntervalOptions) -> RowHeader {
    let model = analysis.model;
    let name = |i: usize| model.parameters.get(i).map_or_else(String::new, |p| p.name.clone());
    let fixed: RowHeader = analysis.base.fixed.iter().map(|&(i, value)| (name(i), json!(value))).collect();
    let param = options.param.clone().or_else(|| model.poi().map(name));
    let entries: [(&str, Value); 10] = [
        ("version", json!(env!("CARGO_PKG_VERSION"))),
        ("model_digest", json!(model.digest())),
        ("data_digest", json!(analysis.data.counts(model).digest())),
        ("interpolation", json!(model.interpolation.to_string())),
        ("samplers", json!(ns_core::random::SAMPLERS)),
        ("seed", json!(options.seed)),
        ("fixed", json!(fixed)),
        ("search", json!(analysis.base.search.name())),
        ("integral_tolerance", json!(analysis.base.integral_tolerance)),
        ("param", json!(param)),
    ];
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The blocks of an earlier run, and the file that takes the new ones.
struct Saved {
    recording: RowRecording<Block>,
    earlier: Vec<Block>,
}

/// The store of a search. An error of the file is kept, and ends the search.
struct Borrowed<'a> {
    store: &'a mut Saved,
    failure: &'a mut Option<RowFileError>,
}

impl Store for Borrowed<'_> {
    fn known(&self, values: &[f64], t: f64, first: u64, most: u64) -> Option<Block> {
        let same = |block: &&Block| {
            let near = (block.t - t).abs() <= SAME_STATISTIC * (1.0 + t);
            block.values == values && near && block.first == first && (1..=most).contains(&block.n_toys)
        };
        self.store.earlier.iter().find(same).cloned()
    }

    fn add(&mut self, block: &Block) -> Result<(), InferenceError> {
        self.store.recording.add(block.clone()).map_err(|error| {
            *self.failure = Some(error);
            InferenceError::Cancelled
        })
    }
}
