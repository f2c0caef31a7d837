//! `nextstat merge-toys`: merges saved shards of toys and computes their common result.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use ns_inference::report::{Part, Report, RunInfo};
use ns_inference::toys::store::{StoreError, StoredRow, ToySet};
use ns_inference::toys::{FitToyRow, FitToysSummary, RowSink, Shard, Summary, ToyOrigin, ToyRow};
use serde::Serialize;

use crate::args::OutputArgs;
use crate::error::{CliError, Exit};
use crate::output::{Output, distinct};

/// Flags of `merge-toys`.
#[derive(Debug, Args)]
#[command(
    after_help = "Files of `hypotest-toys --save` give CLs, those of `toys --save` a study. All must come from one \
    run: the same model, data, options, seed and version, each toy once. A file that its run never finished is read \
    from its pieces in the folder FILE.parts."
)]
pub(crate) struct MergeToysArgs {
    /// Files of toys, in any order
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Compute the result from the toys in the files although other toys of the run are missing
    #[arg(long)]
    allow_incomplete: bool,
    /// Also find the values expected if there is only background; keeps every toy in memory
    #[arg(long)]
    expected_set: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command.
///
/// # Errors
/// If a file cannot be read, is damaged, or belongs to another run than the first file; if two files contain
/// the same toy; if toys are missing, unless `--allow-incomplete` is given; if the result cannot be written.
pub(crate) fn run(args: &MergeToysArgs) -> Result<Exit, CliError> {
    let started = Instant::now();
    for file in &args.files {
        distinct([("FILE", Some(file.as_path())), ("--output", args.output.output.as_deref())])?;
    }
    let output = Output::open(&args.output)?;
    match ToySet::<ToyRow>::open(&args.files) {
        Ok(set) => {
            let (mut header, missing) = (set.header().clone(), complete(&set, args.allow_incomplete)?);
            header.origin.shard = Shard::WHOLE;
            let mut summary = Summary::new(&header).expected_set(args.expected_set);
            set.rows(|rows| summary.rows(rows).map_err(CliError::from))?;
            let mut result = summary.finish();
            mark(&mut result.shard, &mut result.warnings, missing);
            let good = header.converged && result.clsb.is_some() && result.clb.is_some();
            write(output, &result, &result.warnings, &header.origin, started, result.parts())?;
            Ok(Exit::of(false, good))
        }
        Err(StoreError::OtherKind { found, .. }) if found == FitToyRow::KIND => {
            let set = ToySet::<FitToyRow>::open(&args.files)?;
            let (mut header, missing) = (set.header().clone(), complete(&set, args.allow_incomplete)?);
            header.origin.shard = Shard::WHOLE;
            let mut summary = FitToysSummary::new(&header);
            set.rows(|rows| summary.rows(rows).map_err(CliError::from))?;
            let mut result = summary.finish();
            mark(&mut result.shard, &mut result.warnings, missing);
            write(output, &result, &result.warnings, &header.origin, started, result.parts())?;
            Ok(Exit::of(false, result.n_failed < result.n_toys))
        }
        Err(error) => Err(error.into()),
    }
}

/// Adds the warnings `missing` about missing toys to a result. If there are any, the shard of the result
/// becomes "incomplete".
fn mark(shard: &mut String, warnings: &mut Vec<String>, missing: Vec<String>) {
    if !missing.is_empty() {
        "incomplete".clone_into(shard);
    }
    warnings.extend(missing);
}

/// Returns warnings about missing toys and unfinished runs; an empty list if no toy is missing.
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

/// Writes the result of merged toys.
fn write<R: Serialize>(
    output: Output,
    result: &R,
    warnings: &[String],
    origin: &ToyOrigin,
    started: Instant,
    mut parts: Vec<Part>,
) -> Result<(), CliError> {
    let interpolation = &origin.interpolation;
    parts.push(Part::Text(format!("interpolation: {interpolation}")));
    let (interpolation, model_digest) = (Some(interpolation.clone()), Some(origin.model_digest.clone()));
    let ran = RunInfo { interpolation, model_digest, ..RunInfo::without_session(started) };
    output.write(&Report { result, ran, parts }, warnings)
}
