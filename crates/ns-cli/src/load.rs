//! Loads the workspace and the model that the flags name.

use std::path::Path;

use ns_core::{Device, Model};
use ns_inference::matching_names;
use ns_translate::datacard::{Card, CardOptions};
use ns_translate::hs3::EventSources;
use ns_translate::pyhf::{
    ChannelSelection, DigestCheck, ModelOptions, Patch, PatchArgument, Problem, WorkspaceError, file_of,
    read_file, read_from,
};
use ns_translate::{Axes, CorrelationTables, Format, ModelSource, SourceText};
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::args::ModelArgs;
use crate::error::CliError;
use crate::output::complain;

/// Returns the name of the input for messages.
pub(crate) fn origin(args: &ModelArgs) -> String {
    shown(&args.input)
}

/// Returns a path as text for messages.
pub(crate) fn shown(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// Returns whether a path means standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Reads a file, a member of an archive, or standard input. Compressed contents are decompressed.
///
/// # Errors
/// If the contents cannot be read or decompressed.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, WorkspaceError> {
    if is_stdin(path) { read_from(std::io::stdin().lock(), &shown(path)) } else { read_file(path) }
}

/// Reads a model file in any format as JSON: a workspace or an HS3 model.
///
/// # Errors
/// If the contents cannot be read, or are in a format that is no model.
pub(crate) fn text(path: &Path) -> Result<SourceText, WorkspaceError> {
    if is_stdin(path) { SourceText::from_bytes(read(path)?) } else { SourceText::read(path) }
}

/// Reads a model file like [`text`], for a command that works on JSON. The warnings of a conversion are printed.
///
/// # Errors
/// The errors of [`text`].
pub(crate) fn json(path: &Path) -> Result<Vec<u8>, WorkspaceError> {
    let text = text(path)?;
    for warning in text.warnings.iter().map(Problem::paragraph) {
        complain("warning", warning.trim_end());
    }
    Ok(text.json)
}

/// Checks that standard input is used at most once: either for the workspace `input` or for one of the `patches`.
///
/// # Errors
/// [`CliError::Usage`] if it is used more than once.
pub(crate) fn one_reader(input: &Path, patches: &[PatchArgument]) -> Result<(), CliError> {
    let patches = patches.iter().filter(|patch| patch.is_standard_input()).count();
    match (is_stdin(input), patches) {
        (true, 1..) => Err(CliError::Usage(
            "--input and --patch both read standard input, which can be read only once; name a file for one of them"
                .to_owned(),
        )),
        (false, 2..) => Err(CliError::Usage(
            "standard input can be read only once; name files for the other patches".to_owned(),
        )),
        _ => Ok(()),
    }
}

/// Reads the patches that the flags name; `-` means standard input.
///
/// # Errors
/// If a patch cannot be read, or its text is not a patch.
pub(crate) fn patches(arguments: &[PatchArgument]) -> Result<Vec<Patch>, WorkspaceError> {
    let load = |argument: &PatchArgument| {
        if argument.is_standard_input() { argument.parse(&read(&argument.file)?) } else { argument.load() }
    };
    arguments.iter().map(load).collect()
}

/// Reads the workspace or the HS3 file, applies patches, and removes the channels that the flags leave out.
///
/// # Errors
/// If the file or a patch cannot be read or is invalid, or a flag names a channel that does not exist.
pub(crate) fn workspace(args: &ModelArgs) -> Result<ModelSource, WorkspaceError> {
    if let Some(card) = card(args)? {
        return Ok(ModelSource::Card(Box::new(card)));
    }
    let text = text(&args.input)?;
    let patches = patches(&args.patch)?;
    let check = if args.no_digest_check { DigestCheck::Skip } else { DigestCheck::Verify };
    let workspace = ModelSource::from_text(text, &patches, check, &events_of(&args.input))?;
    let selection = selection(args, &workspace.channel_names());
    if selection.is_everything() { Ok(workspace) } else { workspace.select_channels(&selection) }
}

/// Reads a datacard. `None` if the input is something else.
fn card(args: &ModelArgs) -> Result<Option<Card>, WorkspaceError> {
    let flags = [
        ("--mass", args.mass.is_some()),
        ("--map", !args.map.is_empty()),
        ("--mc-stats", args.mc_stats.is_some()),
    ];
    let is_card = !is_stdin(&args.input) && Format::of_file(&args.input) == Format::Datacard;
    if !is_card {
        return match flags.iter().find(|(_, given)| *given) {
            Some((flag, _)) => Err(WorkspaceError::CardOption {
                message: format!("{flag} was given, but the input is no datacard."),
                remedy: "Leave it out.".to_owned(),
            }),
            None => Ok(None),
        };
    }
    if !args.patch.is_empty() {
        return Err(WorkspaceError::CardOption {
            message: "A patch was given, but the input is a datacard.".to_owned(),
            remedy: "Change the card, for example by lines 'nuisance edit', or convert it to a workspace."
                .to_owned(),
        });
    }
    if args.selects_codes() {
        return Err(WorkspaceError::CardOption {
            message: "An interpolation code was given, but the input is a datacard, whose codes are those of Combine."
                .to_owned(),
            remedy: "Leave the flag out, or convert the card to a workspace.".to_owned(),
        });
    }
    let mc_stats = args.mc_stats.unwrap_or_default();
    let mut options = CardOptions { mass: args.mass, mc_stats, ..CardOptions::default() };
    options.maps.clone_from(&args.map);
    options.pois.clone_from(&args.poi);
    let card = Card::read(&args.input, &options)?;
    let selection = selection(args, &card.channel_names());
    Ok(Some(card.selected(&selection)?))
}

/// Returns the channels that the flags select. `known` are the names of all channels.
pub(crate) fn selection(args: &ModelArgs, known: &[&str]) -> ChannelSelection {
    ChannelSelection {
        keep: (!args.channels.is_empty()).then(|| names(&args.channels, known)),
        mask: names(&args.mask, known),
    }
}

/// Returns the folder in which the files of events that a model names are found: the folder of the model's file. A
/// model from standard input has no such folder.
fn events_of(input: &Path) -> EventSources {
    if is_stdin(input) { EventSources::default() } else { EventSources::beside(file_of(input)) }
}

/// Splits lists of names at commas. A list that equals one of the `known` names is not split, because names
/// may contain commas.
pub(crate) fn names(lists: &[String], known: &[&str]) -> Vec<String> {
    let mut names = Vec::new();
    for list in lists {
        if known.contains(&list.as_str()) {
            names.push(list.clone());
        } else {
            names.extend(list.split(',').map(|name| name.trim().to_owned()));
        }
    }
    names
}

/// Splits lists of parameter names at commas. A list that equals the name of a parameter is not split. Patterns, in
/// which `*` stands for any characters and `?` for one, become the names that they match, and `all` those of all
/// parameters. `flag` gives the lists.
///
/// # Errors
/// [`CliError::Usage`] if a pattern matches no parameter.
pub(crate) fn parameters(flag: &str, lists: &[String], model: &Model) -> Result<Vec<String>, CliError> {
    let known: Vec<&str> = model.parameters.iter().map(|p| p.name.as_str()).collect();
    let mut found: Vec<String> = Vec::new();
    for name in names(lists, &known) {
        for name in matching(flag, &name, &known)? {
            if !found.contains(&name) {
                found.push(name);
            }
        }
    }
    Ok(found)
}

/// Returns the parameters that a name, a pattern or `all` means. A name that no parameter has is returned as it is.
///
/// # Errors
/// [`CliError::Usage`] if a pattern matches no parameter.
pub(crate) fn matching(flag: &str, name: &str, known: &[&str]) -> Result<Vec<String>, CliError> {
    let found = matching_names(name, known);
    if found.is_empty() {
        return Err(CliError::Usage(format!(
            "{flag}: no parameter matches '{name}'; `nextstat inspect` lists all"
        )));
    }
    Ok(found)
}

/// Reads the model that the flags describe. Its flows are evaluated on `device`. If `unobserved` is true, channels may
/// lack observations.
///
/// # Errors
/// The errors of [`workspace`], and if the measurement has no valid model.
pub(crate) fn model(args: &ModelArgs, device: Device, unobserved: bool) -> Result<Model, CliError> {
    one_reader(&args.input, &args.patch)?;
    let options = ModelOptions { flows: device, unobserved, ..options(args)? };
    workspace(args)
        .and_then(|workspace| workspace.model(&options))
        .map_err(|source| CliError::Workspace { origin: origin(args), source })
}

/// Reads the model of a file. No patches are applied, and the interpolation codes are the defaults.
///
/// # Errors
/// The errors of [`model`].
pub(crate) fn plain(input: &Path, measurement: Option<String>) -> Result<Model, CliError> {
    let options = ModelOptions { measurement, ..ModelOptions::default() };
    text(input)
        .and_then(|text| {
            ModelSource::from_text(text, &[], DigestCheck::Verify, &events_of(input))?.model(&options)
        })
        .map_err(|source| CliError::Workspace { origin: shown(input), source })
}

/// Returns the measurement, the interpolation codes, the correlations and the axes that the flags select.
///
/// # Errors
/// If a file of correlations or axes cannot be read or has another form.
pub(crate) fn options(args: &ModelArgs) -> Result<ModelOptions, CliError> {
    let mut correlations = CorrelationTables::default();
    for path in &args.correlations {
        let read = |source| CliError::Workspace { origin: shown(path), source };
        let text = read_file(path).map_err(read)?;
        let own = CorrelationTables::from_slice(&text).map_err(|error| read(error.into()))?;
        correlations.extend(own);
    }
    let (measurement, pois) = (args.measurement.clone(), args.poi.clone());
    let interpolation = args.interpolation();
    let axes = match &args.axes {
        Some(path) => {
            Axes::read(path).map_err(|source| CliError::Workspace { origin: shown(path), source })?
        }
        None => axes_beside(&args.input),
    };
    Ok(ModelOptions { measurement, pois, interpolation, correlations, axes, ..ModelOptions::default() })
}

/// Returns the axes beside a workspace; none for standard input.
pub(crate) fn axes_beside(input: &Path) -> Axes {
    if is_stdin(input) { Axes::default() } else { Axes::beside(input) }
}

/// Reads a small JSON file into a value of type `T`. `expected` describes the contents in messages. `usage`
/// turns a message into an error.
///
/// # Errors
/// The error of `usage` if the file cannot be read, is not JSON, or has other contents.
pub(crate) fn form<T: DeserializeOwned>(
    path: &Path,
    usage: &impl Fn(String) -> CliError,
    expected: &str,
) -> Result<T, CliError> {
    let bytes = read_file(path).map_err(|error| match error {
        WorkspaceError::Io { source, .. } => usage(format!("cannot be read: {source}")),
        other => usage(other.to_string()),
    })?;
    serde_json::from_slice::<IgnoredAny>(&bytes)
        .map_err(|error| usage(format!("not valid JSON: {error}")))?;
    serde_json::from_slice(&bytes).map_err(|_| usage(format!("expected {expected}")))
}
