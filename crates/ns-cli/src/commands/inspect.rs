//! `nextstat inspect`: shows the channels, samples, parameters and modifiers of a workspace.

use std::time::Instant;

use clap::Args;
use ns_inference::report::{Part, Report, RunInfo};
use ns_translate::{Contents, Format};

use crate::args::{ModelArgs, OutputArgs};
use crate::contents;
use crate::error::{CliError, Exit};
use crate::load;
use crate::output::Output;

/// Flags of `inspect`.
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command.
///
/// # Errors
/// If the workspace has no valid model, or the result cannot be written.
pub(crate) fn run(args: &InspectArgs) -> Result<Exit, CliError> {
    let started = Instant::now();
    load::one_reader(&args.model.input, &args.model.patch)?;
    let output = Output::open(&args.output)?;
    let failed = |source| CliError::Workspace { origin: load::origin(&args.model), source };
    let workspace = load::workspace(&args.model).map_err(failed)?;
    let (mut contents, model) =
        Contents::inspect(&workspace, &load::options(&args.model)?).map_err(failed)?;
    if Format::of_file(&args.model.input) == Format::Xml {
        // The model of an XML file is made of a workspace or an HS3 model.
        contents.format = Some("HistFactory XML");
    }
    let mut parts = contents::parts(&contents);
    let format = contents.format.unwrap_or_default();
    parts.push(Part::Text(format!("format: {format}\ninterpolation: {}", model.interpolation)));
    let ran = RunInfo::without_session(started).about(&model, model.digest());
    output.write(&Report { result: &contents, ran, parts }, &contents.warnings)?;
    Ok(Exit::Done)
}
