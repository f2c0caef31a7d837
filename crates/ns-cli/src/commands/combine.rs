//! `nextstat combine`: combines several workspaces into one.

use std::path::PathBuf;

use clap::Args;
use ns_translate::pyhf::{Combine, Join, Operation};

use crate::document::{self, DocumentArgs};
use crate::error::{CliError, Exit};
use crate::load;

/// Flags of `combine`.
#[derive(Debug, Args)]
pub(crate) struct CombineArgs {
    /// Workspace files in pyhf's JSON, combined from left to right; `-` reads standard input
    #[arg(value_name = "FILE", required = true, num_args = 2..)]
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
    if args.inputs.iter().filter(|path| load::is_stdin(path)).count() > 1 {
        return Err(CliError::Usage("standard input can be read only once; name the other files".to_owned()));
    }
    let options = Combine { join: args.join, merge_channels: args.merge_channels };
    let mut combined = None;
    let mut left = String::new();
    for path in &args.inputs {
        let right = document::read(path)?;
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
        document::write(output, &workspace)?;
    }
    Ok(Exit::Done)
}
