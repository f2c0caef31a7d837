//! `nextstat sort`: sorts the parts of a workspace by name.

use std::path::PathBuf;

use clap::Args;
use ns_translate::pyhf::{DigestCheck, WrittenWorkspace};

use crate::document::{self, DocumentArgs};
use crate::error::{CliError, Exit};
use crate::load;

/// Flags of `sort`.
#[derive(Debug, Args)]
pub(crate) struct SortArgs {
    /// Workspace file in pyhf's JSON; `-` reads standard input
    #[arg(short, long, value_name = "FILE")]
    input: PathBuf,
    #[command(flatten)]
    output: DocumentArgs,
}

/// Runs the command.
///
/// # Errors
/// If the workspace cannot be read, or the result cannot be written.
pub(crate) fn run(args: &SortArgs) -> Result<Exit, CliError> {
    let output = args.output.open()?;
    let written = load::json(&args.input)
        .and_then(|text| WrittenWorkspace::from_slice_patched(&text, &[], DigestCheck::Verify))
        .map_err(|source| document::failed(&args.input, source))?;
    document::write(output, &written.sorted())?;
    Ok(Exit::Done)
}
