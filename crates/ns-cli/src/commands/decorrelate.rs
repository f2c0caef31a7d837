//! `nextstat decorrelate`: makes a parameter independent parameters.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use ns_translate::pyhf::{Decorrelate, DecorrelateBy, Operation};

use crate::document::{self, DocumentArgs};
use crate::error::{CliError, Exit};
use crate::load;

/// Flags of `decorrelate`.
#[derive(Debug, Args)]
#[command(
    after_help = "A file of regions is a JSON object. Its keys are the names of the new parameters. Its values are lists of \
    channels, or objects with the lists `channels` and `samples`: {\"jes_low\": [\"CR\"], \"jes_ttbar\": {\"samples\": \
    [\"ttbar\"]}}. In other places the parameter keeps its name."
)]
pub(crate) struct DecorrelateArgs {
    /// Workspace file in pyhf's JSON; `-` reads standard input
    #[arg(short, long, value_name = "FILE")]
    input: PathBuf,
    /// Name of the modifiers that share the parameter
    #[arg(long, value_name = "NAME")]
    modifier: String,
    /// What has a parameter of its own: each channel, each sample, or each region of a JSON file
    #[arg(long, value_name = "channel|sample|FILE")]
    by: String,
    #[command(flatten)]
    output: DocumentArgs,
}

/// Runs the command.
///
/// # Errors
/// If the workspace cannot be read, a name is not in it, a new name is taken already, or the result cannot
/// be written.
pub(crate) fn run(args: &DecorrelateArgs) -> Result<Exit, CliError> {
    let output = args.output.open()?;
    let by = match args.by.as_str() {
        "channel" => DecorrelateBy::Channel,
        "sample" => DecorrelateBy::Sample,
        file => DecorrelateBy::Regions(regions(Path::new(file))?),
    };
    let (workspace, axes) = document::read(&args.input)?;
    let decorrelate = Decorrelate { modifier: args.modifier.clone(), by };
    let edited =
        workspace.decorrelate(&decorrelate).map_err(|source| document::failed(&args.input, source))?;
    args.output.tell(Operation::Decorrelate, &edited);
    document::write(&args.output, output, &edited.workspace, (&axes, args.input.as_path()))?;
    Ok(Exit::Done)
}

/// Reads a file of regions.
fn regions(path: &Path) -> Result<BTreeMap<String, ns_translate::pyhf::Region>, CliError> {
    let usage = |why: String| CliError::Usage(format!("--by {}: {why}", path.display()));
    if !path.exists() {
        return Err(usage(
            "there is no such file; give channel, sample or a JSON file of regions".to_owned(),
        ));
    }
    let expected =
        "an object of new names, each with a list of channels or with the lists channels and samples";
    load::form(path, &usage, expected)
}
