//! `nextstat patch`: applies patches to a workspace.

use std::path::PathBuf;

use clap::Args;
use ns_translate::pyhf::{DigestCheck, PatchArgument, WrittenWorkspace};

use crate::document::{self, DocumentArgs};
use crate::error::{CliError, Exit};
use crate::load;

/// Flags of `patch`.
#[derive(Debug, Args)]
pub(crate) struct PatchArgs {
    /// Workspace file in pyhf's JSON; `-` reads standard input
    #[arg(short, long, value_name = "FILE")]
    input: PathBuf,
    /// JSON Patch to apply, or a patchset and the name of its patch; `-` reads standard input; repeatable,
    /// applied in order
    #[arg(short, long, value_name = "FILE[:NAME]", allow_hyphen_values = true, required = true)]
    patch: Vec<PatchArgument>,
    /// Apply a patchset although its digest says that it was made for another workspace
    #[arg(long)]
    no_digest_check: bool,
    #[command(flatten)]
    output: DocumentArgs,
}

/// Runs the command.
///
/// # Errors
/// If the workspace or a patch cannot be read, an operation of a patch cannot be applied, the patched
/// workspace is invalid, or the result cannot be written.
pub(crate) fn run(args: &PatchArgs) -> Result<Exit, CliError> {
    load::one_reader(&args.input, &args.patch)?;
    let output = args.output.open()?;
    let failed = |source| document::failed(&args.input, source);
    let (text, axes) = document::text(&args.input)?;
    let patches = load::patches(&args.patch).map_err(failed)?;
    let check = if args.no_digest_check { DigestCheck::Skip } else { DigestCheck::Verify };
    let written = WrittenWorkspace::from_slice_patched(&text, &patches, check).map_err(failed)?;
    written.check().map_err(failed)?;
    for patch in &patches {
        args.output.say("patched", &format!("{} ({})", patch.origin(), operations(patch.n_operations())));
    }
    document::write(&args.output, output, &written, (&axes, args.input.as_path()))?;
    Ok(Exit::Done)
}

/// Returns the number `n` of operations as text, such as "3 operations".
fn operations(n: usize) -> String {
    ns_inference::present::count(n, "operation")
}
