//! `nextstat licences`: prints the licences of the program and of the font that it contains.

use clap::Args;

use crate::args::{Format, OutputArgs};
use crate::error::{CliError, Exit};
use crate::output::Output;

/// Flags of `licences`. There are none.
#[derive(Debug, Args)]
pub(crate) struct LicencesArgs {}

/// Runs the command.
///
/// # Errors
/// If standard output cannot be written.
pub(crate) fn run(_args: &LicencesArgs) -> Result<Exit, CliError> {
    let output = Output::open(&OutputArgs {
        output: None,
        format: Some(Format::Table),
        quiet: false,
        verbose: false,
    })?;
    let text = format!(
        "NextStat is licensed under {}, at your choice.\n\nThe font in its pictures has this licence:\n\n{}\n",
        env!("CARGO_PKG_LICENSE").replace("OR", "or"),
        ns_viz::FONT_LICENCE.trim_end()
    );
    output.deliver(text.as_bytes())?;
    Ok(Exit::Done)
}
