//! `nextstat rename`: renames parts of a workspace.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use ns_translate::pyhf::{Operation, Rename};

use crate::document::{self, DocumentArgs};
use crate::error::{CliError, Exit};

/// Flags of `rename`.
#[derive(Debug, Args)]
pub(crate) struct RenameArgs {
    /// Workspace file in pyhf's JSON; `-` reads standard input
    #[arg(short, long, value_name = "FILE")]
    input: PathBuf,
    /// Rename a channel and its observation; repeatable
    #[arg(long, value_name = "OLD=NEW")]
    channel: Vec<String>,
    /// Rename a sample in every channel; repeatable
    #[arg(long, value_name = "OLD=NEW")]
    sample: Vec<String>,
    /// Rename a modifier in all samples and measurements; repeatable
    #[arg(long, value_name = "OLD=NEW")]
    modifier: Vec<String>,
    /// Rename a measurement; repeatable
    #[arg(long, value_name = "OLD=NEW")]
    measurement: Vec<String>,
    #[command(flatten)]
    output: DocumentArgs,
}

/// Runs the command.
///
/// # Errors
/// If the workspace cannot be read, a name is not in it, a new name is taken already, or the result cannot
/// be written.
pub(crate) fn run(args: &RenameArgs) -> Result<Exit, CliError> {
    let output = args.output.open()?;
    let (workspace, axes) = document::read(&args.input)?;
    let summary = workspace.summary();
    let modifiers: Vec<&str> = summary.parameters.iter().map(|p| p.name.as_str()).collect();
    let samples: Vec<&str> = summary.samples.iter().map(String::as_str).collect();
    let rename = Rename {
        channels: pairs("--channel", &args.channel, &workspace.channel_names())?,
        samples: pairs("--sample", &args.sample, &samples)?,
        modifiers: pairs("--modifier", &args.modifier, &modifiers)?,
        measurements: pairs("--measurement", &args.measurement, &workspace.measurement_names())?,
    };
    let edited = workspace.rename(&rename).map_err(|source| document::failed(&args.input, source))?;
    args.output.tell(Operation::Rename, &edited);
    let axes = axes.renamed(&rename.channels);
    document::write(&args.output, output, &edited.workspace, (&axes, args.input.as_path()))?;
    Ok(Exit::Done)
}

/// Parses the values `OLD=NEW` of a flag into a map from old to new names. Names may contain `=`. A value is split at
/// the first `=` that follows one of the `known` names. If there is no such `=`, the value is split at its first `=`.
fn pairs(flag: &str, texts: &[String], known: &[&str]) -> Result<BTreeMap<String, String>, CliError> {
    let mut map = BTreeMap::new();
    for text in texts {
        let at = |at: usize| Some((text.get(..at)?, text.get(at + 1..)?));
        let splits = || text.match_indices('=').filter_map(|(i, _)| at(i));
        let Some((old, new)) = splits().find(|(old, _)| known.contains(old)).or_else(|| splits().next())
        else {
            return Err(CliError::Usage(format!("{flag} '{text}': expected OLD=NEW")));
        };
        if let Some(other) = map.insert(old.to_owned(), new.to_owned()).filter(|other| other != new) {
            return Err(CliError::Usage(format!("{flag}: '{old}' cannot become both '{other}' and '{new}'")));
        }
    }
    Ok(map)
}
