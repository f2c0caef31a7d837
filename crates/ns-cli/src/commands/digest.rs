//! `nextstat digest`: prints the digest of a workspace. Patchsets use this digest to identify their
//! workspace.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use ns_inference::report::Part;
use ns_translate::pyhf::{DigestAlgorithm, DigestCheck, PatchArgument, WrittenWorkspace};

use crate::args::OutputArgs;
use crate::document;
use crate::error::{CliError, Exit};
use crate::load;
use crate::output::Output;

/// Flags of `digest`.
#[derive(Debug, Args)]
pub(crate) struct DigestArgs {
    /// Workspace file in pyhf's JSON; `-` reads standard input
    #[arg(short, long, value_name = "FILE")]
    input: PathBuf,
    /// JSON Patch to apply before the digest is computed, or a patchset and the name of its patch;
    /// repeatable, applied in order
    #[arg(long, value_name = "FILE[:NAME]", allow_hyphen_values = true)]
    patch: Vec<PatchArgument>,
    /// Apply a patchset although its digest says that it was made for another workspace
    #[arg(long)]
    no_digest_check: bool,
    /// Algorithm: md5, sha224, sha256, sha384 or sha512; repeatable
    #[arg(short, long, value_name = "NAME", default_value = "sha256")]
    algorithm: Vec<DigestAlgorithm>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command. The JSON result is an object with one digest per algorithm. The table has one line per
/// algorithm, such as `sha256:...`.
///
/// # Errors
/// If the workspace cannot be read, or the result cannot be written.
pub(crate) fn run(args: &DigestArgs) -> Result<Exit, CliError> {
    load::one_reader(&args.input, &args.patch)?;
    let output = Output::open(&args.output)?;
    let check = if args.no_digest_check { DigestCheck::Skip } else { DigestCheck::Verify };
    let written = load::json(&args.input)
        .and_then(|text| WrittenWorkspace::from_slice_patched(&text, &load::patches(&args.patch)?, check))
        .map_err(|source| document::failed(&args.input, source))?;
    let digests: BTreeMap<&str, String> =
        args.algorithm.iter().map(|algorithm| (algorithm.name(), written.digest(*algorithm))).collect();
    let lines: Vec<String> = digests.iter().map(|(name, hex)| format!("{name}:{hex}")).collect();
    output.write_parts(&digests, &[], &[Part::Text(lines.join("\n"))])?;
    Ok(Exit::Done)
}
