//! `nextstat man`: writes manual pages of the program and its commands.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::generate_to;

use crate::error::{CliError, Exit};

/// Flags of `man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Folder that gets the pages nextstat.1, nextstat-fit.1 and so on; it must exist
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

/// Runs the command. `program` describes the command line.
///
/// # Errors
/// If a page cannot be written.
pub(crate) fn run(args: &ManArgs, program: Command) -> Result<Exit, CliError> {
    generate_to(program, &args.folder)
        .map_err(|source| CliError::Write { path: args.folder.clone(), source })?;
    Ok(Exit::Done)
}
