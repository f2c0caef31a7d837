//! `nextstat convert`: writes the model of a workspace as an HS3 file.

use clap::Args;
use ns_translate::hs3;

use crate::args::ModelArgs;
use crate::document::{self, DocumentArgs};
use crate::error::{CliError, Exit};
use crate::load;

/// Flags of `convert`.
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    output: DocumentArgs,
}

/// Runs the command.
///
/// # Errors
/// If the workspace has no valid model, the model has parts that are not written, or the result cannot be
/// written.
pub(crate) fn run(args: &ConvertArgs) -> Result<Exit, CliError> {
    let output = args.output.open()?;
    let model = load::model(&args.model)?;
    let document = hs3::write(&model).map_err(|error| CliError::Usage(error.to_string()))?;
    document::write(output, &document)?;
    Ok(Exit::Done)
}
