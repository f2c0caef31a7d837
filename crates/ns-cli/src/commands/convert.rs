//! `nextstat convert`: converts between workspaces and HS3 files. Also writes HS3 files again in the words of
//! the standard.

use std::path::Path;

use clap::{Args, ValueEnum};
use ns_core::Interpolation;
use ns_translate::pyhf::workspace_of;
use ns_translate::{ModelSource, hs3};
use serde_json::Value;

use crate::args::ModelArgs;
use crate::document::{self, DocumentArgs};
use crate::error::{CliError, Exit};
use crate::load;

/// A format of model files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Target {
    /// HS3 in the words of the standard
    Hs3,
    /// A pyhf workspace; for models of HistFactory channels alone
    Pyhf,
}

/// Flags of `convert`.
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Format of the result
    #[arg(long, value_name = "FORMAT", default_value = "hs3")]
    to: Target,
    #[command(flatten)]
    output: DocumentArgs,
}

/// Runs the command.
///
/// # Errors
/// If the file has no valid model, the model has parts that the format cannot express, or the result cannot be
/// written.
pub(crate) fn run(args: &ConvertArgs) -> Result<Exit, CliError> {
    refuse_root(&args.model.input)?;
    let output = args.output.open()?;
    load::one_reader(&args.model.input, &args.model.patch)?;
    let failed = |source| CliError::Workspace { origin: load::origin(&args.model), source };
    let source = load::workspace(&args.model).map_err(failed)?;
    let model = source.model(&load::options(&args.model));
    let document = match (&source, args.to) {
        // The result keeps all analyses of the file. No analysis has to be chosen, but all of them must be
        // valid.
        (ModelSource::Hs3(file), Target::Hs3) if args.model.measurement.is_none() => {
            let broken = file.validate().iter().any(|p| p.severity == ns_translate::pyhf::Severity::Error);
            if broken {
                model.map_err(failed)?;
            }
            file.restated()?
        }
        (ModelSource::Hs3(file), Target::Hs3) => {
            let model = model.map_err(failed)?;
            only(file.restated()?, &model.measurement)
        }
        (_, Target::Hs3) => {
            hs3::write(&model.map_err(failed)?).map_err(|error| CliError::Usage(error.to_string()))?
        }
        (_, Target::Pyhf) => {
            let model = model.map_err(failed)?;
            if model.interpolation != Interpolation::default() {
                let codes = model.interpolation;
                let text = format!(
                    "a workspace does not say how modifiers are interpolated; read this one with --normsys-code {} \
                     --histosys-code {}",
                    codes.normsys.name(),
                    codes.histosys.name()
                );
                args.output.say("warning", &text);
            }
            workspace_of(&model).map_err(|error| CliError::Usage(error.to_string()))?
        }
    };
    document::write(output, &document)?;
    Ok(Exit::Done)
}

/// Removes all analyses of an HS3 document except the analysis with this name. A document without analyses
/// does not change.
fn only(mut document: Value, name: &str) -> Value {
    if let Some(analyses) = document.get_mut("analyses").and_then(Value::as_array_mut) {
        analyses.retain(|analysis| analysis.get("name").is_some_and(|own| own == name));
    }
    document
}

/// Returns an error if the input is a ROOT file. The message says how to read its contents.
fn refuse_root(input: &Path) -> Result<(), CliError> {
    if input.extension().is_some_and(|extension| extension == "root") {
        return Err(CliError::Usage(format!(
            "{} is a file of ROOT. Its trees are read in Python: nextstat.read_root(file, tree) (pip install \
             uproot awkward) returns columns for load_workspace(events=), which pyarrow writes as Parquet files. \
             A RooWorkspace is written as HS3 by ROOT: RooJSONFactoryWSTool(workspace).exportJSON(\"model.json\").",
            ns_core::plain(&input.display().to_string())
        )));
    }
    Ok(())
}
