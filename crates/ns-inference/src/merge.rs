//! Merges the files with the toys of all shards (parts) of a run, and computes the result of the whole run.

use std::path::PathBuf;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::report::{Part, RunInfo};
use crate::toys::store::{SavedRunError, StoreError, StoredRow, ToySet};
use crate::toys::{
    FitToyRow, FitToysResult, FitToysSummary, HypotestToysResult, RowSink, Shard, Summary, ToyOrigin, ToyRow,
};

/// Options of [`merge_toys`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MergeOptions {
    /// Whether to compute a result if toys of the run are missing. The warnings of the result then name the missing
    /// toys.
    pub allow_incomplete: bool,
    /// Whether to compute also the values expected under the background hypothesis. This needs all toys in memory.
    /// Ignored for toys of a study of fits.
    pub expected_set: bool,
}

/// The result that is computed from merged toys: a hypothesis test, or a study of fits.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum MergedResult {
    /// A hypothesis test, from toys of [`crate::hypotest_toys`].
    Test(Box<HypotestToysResult>),
    /// A study of fits, from toys of [`crate::toys::fit_toys`].
    Study(Box<FitToysResult>),
}

/// The result of merged toys, and the origin of the toys.
#[derive(Debug, Clone)]
pub struct MergedToys {
    /// The result of the whole run.
    pub result: MergedResult,
    /// Model, seed, settings and versions on which the numbers of the toys depend. The field `shard`, which names a
    /// part of a run, here names the whole run.
    pub origin: ToyOrigin,
    /// Whether the result is usable: the hypothesis test has p-values, or at least one fit of the study converged.
    pub good: bool,
}

impl MergedToys {
    /// Returns the warnings of the result.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        match &self.result {
            MergedResult::Test(result) => &result.warnings,
            MergedResult::Study(result) => &result.warnings,
        }
    }

    /// Removes the warnings that contain the text `with`, for example the path of a temporary file that means nothing
    /// to the reader of the result.
    pub fn remove_warnings(&mut self, with: &str) {
        let warnings = match &mut self.result {
            MergedResult::Test(result) => &mut result.warnings,
            MergedResult::Study(result) => &mut result.warnings,
        };
        warnings.retain(|warning| !warning.contains(with));
    }

    /// Returns a readable report of the result, as tables and texts.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let mut parts = match &self.result {
            MergedResult::Test(result) => result.parts(),
            MergedResult::Study(result) => result.parts(),
        };
        parts.push(Part::Text(format!("interpolation: {}", self.origin.interpolation)));
        parts
    }

    /// Returns information about the merge: the model, the interpolation codes and the wall time since `started`.
    #[must_use]
    pub fn run_info(&self, started: Instant) -> RunInfo {
        RunInfo {
            interpolation: Some(self.origin.interpolation.clone()),
            model_digest: Some(self.origin.model_digest.clone()),
            ..RunInfo::without_session(started)
        }
    }
}

/// Computes the result of one run of toys from the files of its shards, given in any order. If a run is unfinished, its
/// toys are read from the files in the folder `FILE.parts`.
///
/// # Errors
/// If a file cannot be read, is damaged, or belongs to a run other than that of the first file. If two files contain
/// the same toy. If toys are missing and the options do not allow this.
pub fn merge_toys(files: &[PathBuf], options: MergeOptions) -> Result<MergedToys, SavedRunError> {
    match ToySet::<ToyRow>::open(files) {
        Ok(set) => {
            let missing = complete(&set, options.allow_incomplete)?;
            let mut header = set.header().clone();
            header.origin.shard = Shard::WHOLE;
            let mut summary = Summary::new(&header).expected_set(options.expected_set);
            set.rows(|rows| summary.rows(rows).map_err(SavedRunError::from))?;
            let mut result = summary.finish();
            mark(&mut result.shard, &mut result.warnings, missing);
            let good = header.converged && result.clsb.is_some() && result.clb.is_some();
            Ok(MergedToys { result: MergedResult::Test(Box::new(result)), origin: header.origin, good })
        }
        Err(StoreError::OtherKind { found, .. }) if found == FitToyRow::KIND => {
            let set = ToySet::<FitToyRow>::open(files)?;
            let missing = complete(&set, options.allow_incomplete)?;
            let mut header = set.header().clone();
            header.origin.shard = Shard::WHOLE;
            let mut summary = FitToysSummary::new(&header);
            set.rows(|rows| summary.rows(rows).map_err(SavedRunError::from))?;
            let mut result = summary.finish();
            mark(&mut result.shard, &mut result.warnings, missing);
            let good = result.n_failed < result.n_toys;
            Ok(MergedToys { result: MergedResult::Study(Box::new(result)), origin: header.origin, good })
        }
        Err(error) => Err(error.into()),
    }
}

/// Adds the warnings in `missing`, which are about missing toys, to the warnings of a result. If there are such
/// warnings, `shard`, the part of the run to which the result belongs, becomes "incomplete".
fn mark(shard: &mut String, warnings: &mut Vec<String>, missing: Vec<String>) {
    if !missing.is_empty() {
        "incomplete".clone_into(shard);
    }
    warnings.extend(missing);
}

/// Returns warnings about missing toys and unfinished runs. The list is empty if no toy is missing.
///
/// # Errors
/// If toys are missing and `allowed` is false.
fn complete<R: StoredRow>(set: &ToySet<R>, allowed: bool) -> Result<Vec<String>, StoreError> {
    let Some(missing) = set.missing() else { return Ok(Vec::new()) };
    if !allowed {
        return Err(StoreError::Incomplete { missing });
    }
    let mut warnings = vec![format!("toys are missing: {missing}; these are the numbers of the others")];
    for path in set.interrupted() {
        warnings.push(format!("the run of {} was not finished; continue it with --resume", path.display()));
    }
    Ok(warnings)
}
