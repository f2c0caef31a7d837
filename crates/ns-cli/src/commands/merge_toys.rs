//! `nextstat merge-toys`: merges the saved shards of a run of toys and computes the result of the whole run.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use ns_inference::merge::{MergeOptions, MergedResult, merge_toys};
use ns_inference::report::Report;
use ns_inference::reread::AnyResult;

use crate::args::OutputArgs;
use crate::error::{CliError, Exit};
use crate::output::{Output, distinct};
use crate::plot::{PlotArgs, drawn};

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
    #[command(flatten)]
    plot: PlotArgs,
}

/// Runs the command.
///
/// # Errors
/// If a file cannot be read, is damaged, or belongs to another run than the first file; if two files contain
/// the same toy; if toys are missing, unless `--allow-incomplete` is given; if the result or the picture cannot
/// be written.
pub(crate) fn run(args: &MergeToysArgs) -> Result<Exit, CliError> {
    let started = Instant::now();
    for file in &args.files {
        let written = [("--output", args.output.output.as_deref()), ("--plot", args.plot.path())];
        distinct([("FILE", Some(file.as_path()))].into_iter().chain(written))?;
    }
    let plots = args.plot.open(args.output.output.as_deref())?;
    let output = Output::open(&args.output)?;
    let options = MergeOptions { allow_incomplete: args.allow_incomplete, expected_set: args.expected_set };
    let merged = merge_toys(&args.files, options)?;
    let (ran, parts) = (merged.run_info(started), merged.parts());
    output.write(&Report { result: &merged.result, ran, parts }, merged.warnings())?;
    plots.finish(Exit::of(false, merged.good), |asked| {
        let result = match &merged.result {
            MergedResult::Test(result) => AnyResult::HypotestToys((**result).clone()),
            MergedResult::Study(result) => AnyResult::Toys((**result).clone()),
        };
        drawn(asked, "", &result)
    })
}
