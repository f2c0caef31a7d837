//! `nextstat sort`: sorts the parts of a workspace by name.

use std::path::PathBuf;

use clap::Args;
use ns_translate::pyhf::{DigestCheck, WrittenWorkspace};

use crate::document::{self, DocumentArgs};
use crate::error::{CliError, Exit};

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
    let (text, axes) = document::text(&args.input)?;
    let written = WrittenWorkspace::from_slice_patched(&text, &[], DigestCheck::Verify)
        .map_err(|source| document::failed(&args.input, source))?;
    document::write(&args.output, output, &written.sorted(), (&axes, args.input.as_path()))?;
    Ok(Exit::Done)
}
