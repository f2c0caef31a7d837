//! `nextstat blue`: combines given results to the best linear unbiased estimate.

use std::path::PathBuf;

use clap::Args;
use ns_inference::{BlueError, BlueInput, blue};

use crate::args::OutputArgs;
use crate::error::{CliError, Exit};
use crate::load;
use crate::output::Output;

/// Flags of `blue`.
#[derive(Debug, Args)]
#[command(
    after_help = "FILE lists results with a name, a value and uncertainties by source, and the correlation of each source: a \
    number for all results, or a matrix. With the key quantity, results of several quantities are combined together."
)]
pub(crate) struct BlueArgs {
    /// The results, in TOML or JSON; `-` reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command.
///
/// # Errors
/// If the file cannot be read, has other contents, or its results cannot be combined; or if the result cannot be written.
pub(crate) fn run(args: &BlueArgs) -> Result<Exit, CliError> {
    let output = Output::open(&args.output)?;
    let origin = || load::shown(&args.file);
    let bytes = load::read(&args.file).map_err(|source| CliError::Workspace { origin: origin(), source })?;
    let wrong = |error: BlueError| CliError::Usage(format!("{}: {error}", origin()));
    let input = BlueInput::from_slice(&bytes).map_err(wrong)?;
    let result = blue(&input).map_err(wrong)?;
    output.write_parts(&result, &result.warnings, &result.parts())?;
    Ok(Exit::Done)
}
