//! `nextstat combine`: combines several workspaces, or several datacards, into one.

use std::path::{Path, PathBuf};

use clap::Args;
use ns_translate::datacard::{Card, CardOptions};
use ns_translate::pyhf::{Combine, Join, Operation, Problem, WorkspaceError};
use ns_translate::{Axes, Format};

use crate::document::{self, DocumentArgs};
use crate::error::{CliError, Exit};
use crate::load;
use crate::output::Output;

/// Flags of `combine`.
#[derive(Debug, Args)]
pub(crate) struct CombineArgs {
    /// Workspace files in pyhf's JSON, combined from left to right; `-` reads standard input. Or datacards, as
    /// LABEL=FILE: a card with one channel gives it the name of its label, other channels are called LABEL_CHANNEL
    #[arg(value_name = "[LABEL=]FILE", required = true, num_args = 2..)]
    inputs: Vec<PathBuf>,
    /// What to do with channels, observations and measurements that both workspaces have under one name:
    /// none forbids them, outer requires them to be equal, left-outer and right-outer take those of one side
    #[arg(long, value_name = "JOIN", default_value = "none")]
    join: Join,
    /// Merge channels of the same name sample by sample
    #[arg(long)]
    merge_channels: bool,
    #[command(flatten)]
    output: DocumentArgs,
}

/// Runs the command.
///
/// # Errors
/// If a workspace cannot be read, two workspaces cannot be combined, or the result cannot be written.
pub(crate) fn run(args: &CombineArgs) -> Result<Exit, CliError> {
    let output = args.output.open()?;
    let cards: Vec<(String, PathBuf)> = args.inputs.iter().map(|input| labelled(input)).collect();
    let is_card = |path: &Path| !load::is_stdin(path) && Format::of_file(path) == Format::Datacard;
    let n_cards = cards.iter().filter(|(_, path)| is_card(path)).count();
    if n_cards == cards.len() {
        return combine_cards(args, cards, output);
    }
    if let Some((_, path)) = cards.iter().find(|(_, path)| is_card(path)) {
        return Err(CliError::Usage(format!(
            "{} is a datacard, and others of the files are not; convert it with `nextstat convert --to pyhf`, or name \
             datacards alone",
            path.display()
        )));
    }
    if args.inputs.iter().filter(|path| load::is_stdin(path)).count() > 1 {
        return Err(CliError::Usage("standard input can be read only once; name the other files".to_owned()));
    }
    let options = Combine { join: args.join, merge_channels: args.merge_channels };
    let mut combined = None;
    let mut all = Axes::default();
    let mut left = String::new();
    for path in &args.inputs {
        let (right, axes) = document::read(path)?;
        // Of channels in both files, the axis is that of the file whose channel stays.
        all = if args.join == Join::RightOuter { axes.united(&all) } else { all.united(&axes) };
        let name = load::shown(path);
        combined = Some(match combined {
            None => right,
            Some(workspace) => {
                let origin = format!("{left} (left) and {name} (right)");
                let edited = ns_translate::pyhf::Workspace::combine(&workspace, &right, options)
                    .map_err(|source| CliError::Workspace { origin, source })?;
                args.output.tell(Operation::Combine, &edited);
                edited.workspace
            }
        });
        left = if left.is_empty() { name } else { format!("{left} + {name}") };
    }
    if let Some(workspace) = combined {
        let axes = all.only(&workspace.channel_names());
        document::write(&args.output, output, &workspace, (&axes, Path::new("")))?;
    }
    Ok(Exit::Done)
}

/// Splits `LABEL=FILE`. A file whose whole name has the sign `=` is not split.
fn labelled(input: &Path) -> (String, PathBuf) {
    let text = input.to_string_lossy();
    match text.split_once('=') {
        Some((label, file)) if !input.exists() => (label.to_owned(), PathBuf::from(file)),
        _ => (String::new(), input.to_path_buf()),
    }
}

/// Writes the datacard of several datacards. Names of files are relative to the folder of the output, or to the current
/// folder.
fn combine_cards(
    args: &CombineArgs,
    inputs: Vec<(String, PathBuf)>,
    output: Output,
) -> Result<Exit, CliError> {
    if args.merge_channels || args.join != Join::None {
        return Err(CliError::Usage(
            "--join and --merge-channels are for workspaces; leave them out".to_owned(),
        ));
    }
    let mut cards = Vec::with_capacity(inputs.len());
    let names: Vec<String> = inputs.iter().map(|(_, path)| load::shown(path)).collect();
    for (label, path) in inputs {
        let card = Card::read(&path, &CardOptions::default())
            .map_err(|error| document::failed(&path, WorkspaceError::from(error)))?;
        cards.push((label, card));
    }
    let combined = Card::combine(cards)
        .map_err(|error| CliError::Workspace { origin: names.join(" + "), source: error.into() })?;
    for warning in combined.reading_warnings().iter().map(Problem::paragraph) {
        args.output.say("warning", warning.trim_end());
    }
    let folder = args.output.path().and_then(Path::parent).unwrap_or(Path::new(""));
    output.deliver(combined.to_text(folder).as_bytes())?;
    Ok(Exit::Done)
}
