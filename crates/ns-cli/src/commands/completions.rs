//! `nextstat completions`: prints the completions of the command line for a shell.

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use crate::args::{Format, OutputArgs};
use crate::error::{CliError, Exit};
use crate::output::Output;

/// Flags of `completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell: bash, zsh, fish, elvish or powershell
    #[arg(value_name = "SHELL", hide_possible_values = true)]
    shell: Shell,
}

/// Runs the command. `program` describes the command line.
///
/// # Errors
/// If standard output cannot be written.
pub(crate) fn run(args: &CompletionsArgs, mut program: Command) -> Result<Exit, CliError> {
    let to = OutputArgs { output: None, format: Some(Format::Table), quiet: false, verbose: false };
    let output = Output::open(&to)?;
    let mut text = Vec::new();
    generate(args.shell, &mut program, "nextstat", &mut text);
    output.deliver(&text)?;
    Ok(Exit::Done)
}
