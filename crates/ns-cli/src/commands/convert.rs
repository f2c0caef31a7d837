//! `nextstat convert`: converts between workspaces, HS3 files and HistFactory's XML. Also writes HS3 files again in the
//! words of the standard.

use clap::{Args, ValueEnum};
use ns_core::{Interpolation, Model};
use ns_translate::histfactory::Exported;
use ns_translate::pyhf::{ModelOptions, Problem, Workspace, WorkspaceError, renamed, workspace_of};
use ns_translate::{Axes, Format, ModelSource, histfactory, hs3};
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
    /// HistFactory's XML with a ROOT file, into the folder that `--output` names
    Xml,
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
    if args.to == Target::Xml {
        return xml(args);
    }
    let output = args.output.open()?;
    load::one_reader(&args.model.input, &args.model.patch)?;
    let failed = |source| CliError::Workspace { origin: load::origin(&args.model), source };
    let source = load::workspace(&args.model).map_err(failed)?;
    let model = source.model(&load::options(&args.model)?);
    let axes = match &model {
        Ok(model) if args.to == Target::Pyhf => Axes::of_model(model),
        _ => Axes::default(),
    };
    let document = match (&source, args.to) {
        // The result keeps all analyses of the file. No analysis has to be chosen, but all of them must be
        // valid.
        (ModelSource::Hs3(file), Target::Hs3)
            if args.model.measurement.is_none() && args.model.correlations.is_empty() =>
        {
            let broken = file.validate().iter().any(|p| p.severity == ns_translate::pyhf::Severity::Error);
            if broken {
                model.map_err(failed)?;
            }
            file.restated()?
        }
        (ModelSource::Hs3(file), Target::Hs3) if args.model.correlations.is_empty() => {
            let model = model.map_err(failed)?;
            only(file.restated()?, &model.measurement)
        }
        (_, Target::Hs3) => {
            hs3::write(&model.map_err(failed)?).map_err(|error| CliError::Usage(error.to_string()))?
        }
        (_, Target::Pyhf | Target::Xml) => {
            let model = model.map_err(failed)?;
            for warning in source.reading_warnings().iter().map(Problem::paragraph) {
                args.output.say("warning", warning.trim_end());
            }
            let workspace = match &source {
                ModelSource::Pyhf(workspace) if args.model.correlations.is_empty() => Some(workspace),
                _ => None,
            };
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
            match workspace {
                Some(workspace) => as_read(workspace, &args.model, &model).map_err(failed)?,
                None => {
                    let document =
                        workspace_of(&model).map_err(|error| CliError::Usage(error.to_string()))?;
                    tell_renamed(args, &model);
                    document
                }
            }
        }
    };
    document::write(&args.output, output, &document, (&axes, args.model.input.as_path()))?;
    Ok(Exit::Done)
}

/// Warns of parameters that have other names in a workspace.
fn tell_renamed(args: &ConvertArgs, model: &Model) {
    for (own, name) in renamed(model) {
        args.output.say("warning", &format!("the parameter '{own}' is called '{name}' in the workspace"));
    }
}

/// Returns a workspace as it was read, with patches and without channels that were left out. All its measurements are kept and must be
/// valid, unless the flags choose one or other parameters of interest; then it is that of `model`.
fn as_read(workspace: &Workspace, args: &ModelArgs, model: &Model) -> Result<Value, WorkspaceError> {
    if args.measurement.is_none() && args.poi.is_empty() {
        for name in workspace.measurement_names() {
            let (measurement, interpolation) = (Some(name.to_owned()), args.interpolation());
            workspace.model(&ModelOptions { measurement, interpolation, ..ModelOptions::default() })?;
        }
        return Ok(workspace.to_value());
    }
    let pois = (!args.poi.is_empty()).then(|| model.poi_names().map(str::to_owned).collect());
    Ok(workspace.of_measurement(&model.measurement, pois).to_value())
}

/// Writes XML and a ROOT file into a folder. A workspace keeps all its measurements.
fn xml(args: &ConvertArgs) -> Result<Exit, CliError> {
    let Some(folder) = args.output.path() else {
        return Err(CliError::Usage(
            "--to xml writes several files; name a folder for them with --output".to_owned(),
        ));
    };
    load::one_reader(&args.model.input, &args.model.patch)?;
    let failed = |source| CliError::Workspace { origin: load::origin(&args.model), source };
    let source = load::workspace(&args.model).map_err(failed)?;
    let written = match is_plain_xml(&args.model) {
        true => copied(args, &source)?,
        false => histfactory::write(&through_pyhf(args, &source)?).map_err(|error| failed(error.into()))?,
    };
    written.save(folder).map_err(|error| failed(error.into()))?;
    for warning in source.reading_warnings().iter().map(Problem::paragraph) {
        args.output.say("warning", warning.trim_end());
    }
    for note in &written.notes {
        args.output.say("warning", note);
    }
    args.output.say("written", &folder.join(histfactory::COMBINATION).display().to_string());
    Ok(Exit::Done)
}

/// Whether the input is XML whose contents no flag changes.
fn is_plain_xml(args: &ModelArgs) -> bool {
    let changed = !(args.patch.is_empty() && args.correlations.is_empty() && args.poi.is_empty());
    !changed && !load::is_stdin(&args.input) && Format::of_file(&args.input) == Format::Xml
}

/// Writes XML again as it was read. `source` is its model, of which every measurement must be valid.
fn copied(args: &ConvertArgs, source: &ModelSource) -> Result<Exported, CliError> {
    let failed = |source| CliError::Workspace { origin: load::origin(&args.model), source };
    let chosen = args.model.measurement.as_deref();
    let names = chosen.map_or_else(|| source.measurement_names(), |name| vec![name.to_owned()]);
    let mut warnings = Vec::new();
    for name in names {
        let options = ModelOptions { measurement: Some(name), ..ModelOptions::default() };
        warnings = source.model(&options).map_err(failed)?.warnings;
    }
    let selection = load::selection(&args.model, &source.channel_names());
    let has = |names: &[String], name: &str| names.iter().any(|known| known == name);
    let keep = |name: &str| {
        selection.keep.as_ref().is_none_or(|names| has(names, name)) && !has(&selection.mask, name)
    };
    let mut written =
        histfactory::copy(&args.model.input, chosen, &keep).map_err(|error| failed(error.into()))?;
    // Those of a workspace are warnings of reading, which are told anyway.
    if matches!(source, ModelSource::Hs3(_)) {
        written.notes.extend(warnings);
    }
    Ok(written)
}

/// Makes the workspace that is written as XML. A workspace keeps all its measurements.
fn through_pyhf(args: &ConvertArgs, source: &ModelSource) -> Result<Workspace, CliError> {
    let failed = |source| CliError::Workspace { origin: load::origin(&args.model), source };
    let workspace = match source {
        ModelSource::Pyhf(workspace) if args.model.correlations.is_empty() => {
            if args.model.measurement.is_none() && args.model.poi.is_empty() {
                workspace.clone()
            } else {
                let model = source.model(&load::options(&args.model)?).map_err(failed)?;
                let document = as_read(workspace, &args.model, &model).map_err(failed)?;
                Workspace::from_value(document).map_err(failed)?
            }
        }
        _ => {
            let model = source.model(&load::options(&args.model)?).map_err(failed)?;
            let document = workspace_of(&model).map_err(|error| {
                CliError::Usage(format!(
                    "the model cannot be written as XML of HistFactory, which is made of a workspace: {}",
                    error.reasons.join("; ")
                ))
            })?;
            tell_renamed(args, &model);
            Workspace::from_value(document).map_err(failed)?
        }
    };
    // Every measurement must have a model, because XML is checked by no other program before it is used.
    for name in workspace.measurement_names() {
        let options =
            ModelOptions { measurement: Some(name.to_owned()), unobserved: true, ..ModelOptions::default() };
        workspace.model(&options).map_err(failed)?;
    }
    Ok(workspace)
}

/// Removes all analyses of an HS3 document except the analysis with this name. A document without analyses
/// does not change.
fn only(mut document: Value, name: &str) -> Value {
    if let Some(analyses) = document.get_mut("analyses").and_then(Value::as_array_mut) {
        analyses.retain(|analysis| analysis.get("name").is_some_and(|own| own == name));
    }
    document
}
