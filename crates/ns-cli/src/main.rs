//! The `nextstat` program: parses flags, calls the library crates and prints results.

mod args;
mod commands;
mod contents;
mod data_args;
mod document;
mod error;
mod expectation;
mod guard;
mod interrupt;
mod job;
mod load;
mod output;
mod plot;
mod progress;
mod save;
mod start;
mod streams;
mod table;

use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

/// Statistical inference for models of bins and events (pyhf workspaces, HS3 files).
#[derive(Debug, Parser)]
#[command(
    name = "nextstat",
    version,
    after_help = "Exit codes: 0 done; 1 the analysis failed (say, the fit did not converge); 2 wrong usage or \
                  invalid input; 3 the device asked for is not there; 130 interrupted, finished part written."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Find the best fit with its uncertainties
    Fit(commands::fit::FitArgs),
    /// Scan the profile likelihood in one or two parameters
    Scan(commands::scan::ScanArgs),
    /// Rank nuisance parameters by their impact on the parameter of interest
    Ranking(commands::ranking::RankingArgs),
    /// Test a value of the parameter of interest (asymptotic CLs)
    Hypotest(commands::hypotest::HypotestArgs),
    /// Test a value of the parameter of interest with toys (CLs without asymptotic formulae)
    HypotestToys(commands::hypotest_toys::HypotestToysArgs),
    /// Merge saved shards of toys and find their common result
    MergeToys(commands::merge_toys::MergeToysArgs),
    /// Fit toys drawn at a known point: bias, pulls and coverage of parameters
    Toys(commands::toys::ToysArgs),
    /// Find the CLs upper limit on the parameter of interest
    UpperLimit(commands::upper_limit::UpperLimitArgs),
    /// Find the significance of a discovery
    Significance(commands::significance::SignificanceArgs),
    /// Test the goodness of fit against the saturated model
    Gof(commands::gof::GofArgs),
    /// Predict the events of every channel and sample, with uncertainties, and the data beside them
    Yields(commands::yields::YieldsArgs),
    /// Show what is in a workspace
    Inspect(commands::inspect::InspectArgs),
    /// Find every problem of a workspace
    Validate(commands::validate::ValidateArgs),
    /// Apply patches to a workspace
    Patch(commands::patch::PatchArgs),
    /// Remove channels, samples, modifiers or small systematics from a workspace
    Prune(commands::prune::PruneArgs),
    /// Rename channels, samples, modifiers or measurements of a workspace
    Rename(commands::rename::RenameArgs),
    /// Combine workspaces into one
    Combine(commands::combine::CombineArgs),
    /// Sort a workspace by name
    Sort(commands::sort::SortArgs),
    /// Write the model of a workspace as an HS3 file
    Convert(commands::convert::ConvertArgs),
    /// Print the digest of a workspace
    Digest(commands::digest::DigestArgs),
    /// List the devices that fits can run on, and why others cannot be used
    Devices(commands::devices::DevicesArgs),
    /// Test whether a device computes what the CPU does, on this machine
    Selftest(commands::selftest::SelftestArgs),
    /// Print the licences of this program and of its font
    Licences(commands::licences::LicencesArgs),
}

fn main() -> ExitCode {
    guard::run(program)
}

/// Parses the command line. A negative number after a flag is read as the value of the flag, not as another flag. If
/// the flag does not accept that value, the error message can therefore list the possible values.
fn parsed() -> Cli {
    let values = |arg: Arg| {
        let one = arg.get_action().takes_values() && !arg.is_positional();
        if one { arg.allow_negative_numbers(true) } else { arg }
    };
    let mut command = Cli::command().mut_subcommands(|command| command.mut_args(values));
    let matches =
        command.try_get_matches_from_mut(std::env::args_os()).unwrap_or_else(|error| with_tip(error).exit());
    if let Some(name) = without_data_tables(&matches) {
        let message = format!(
            "nextstat {name} has no tables for HEPData, only {} have; give another --format\n",
            WITH_DATA_TABLES.join(", ")
        );
        command.error(ErrorKind::InvalidValue, message).exit()
    }
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut command).exit())
}

/// Commands that `--format hepdata` is for.
const WITH_DATA_TABLES: [&str; 4] = ["fit", "scan", "upper-limit", "yields"];

/// Returns the name of the command if it has no tables for HEPData, but is asked for them.
fn without_data_tables(matches: &ArgMatches) -> Option<&str> {
    let (name, flags) = matches.subcommand()?;
    let format = flags.try_get_one::<args::Format>("format").ok().flatten();
    let toys = flags.try_contains_id("toys").is_ok_and(|there| there);
    (format == Some(&args::Format::Hepdata) && (toys || !WITH_DATA_TABLES.contains(&name))).then_some(name)
}

/// Adds a tip to the error if an unknown argument is an existing file. The tip says that a workspace needs
/// the flag `--input`.
fn with_tip(mut error: clap::Error) -> clap::Error {
    let stray = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(text)) => !text.starts_with('-') && Path::new(text).is_file(),
        _ => false,
    };
    if error.kind() == ErrorKind::UnknownArgument && stray {
        let tip = "to name the workspace, write '--input' or '-i' before the file".to_owned();
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Parses the command line and runs the command. Prints the error of a command that fails. Returns the exit
/// code.
fn program() -> ExitCode {
    #[cfg(debug_assertions)]
    assert!(std::env::var_os("NEXTSTAT_TEST_PANIC").is_none(), "a panic that a test asked for");
    let outcome = match parsed().command {
        Command::Fit(args) => commands::fit::run(&args),
        Command::Scan(args) => commands::scan::run(&args),
        Command::Ranking(args) => commands::ranking::run(&args),
        Command::Hypotest(args) => commands::hypotest::run(&args),
        Command::HypotestToys(args) => commands::hypotest_toys::run(&args),
        Command::MergeToys(args) => commands::merge_toys::run(&args),
        Command::Toys(args) => commands::toys::run(&args),
        Command::UpperLimit(args) => commands::upper_limit::run(&args),
        Command::Significance(args) => commands::significance::run(&args),
        Command::Gof(args) => commands::gof::run(&args),
        Command::Yields(args) => commands::yields::run(&args),
        Command::Inspect(args) => commands::inspect::run(&args),
        Command::Validate(args) => commands::validate::run(&args),
        Command::Patch(args) => commands::patch::run(&args),
        Command::Prune(args) => commands::prune::run(&args),
        Command::Rename(args) => commands::rename::run(&args),
        Command::Combine(args) => commands::combine::run(&args),
        Command::Sort(args) => commands::sort::run(&args),
        Command::Convert(args) => commands::convert::run(&args),
        Command::Digest(args) => commands::digest::run(&args),
        Command::Devices(args) => commands::devices::run(&args),
        Command::Selftest(args) => commands::selftest::run(&args),
        Command::Licences(args) => commands::licences::run(&args),
    };
    match outcome {
        Ok(code) => code.into(),
        Err(error) => {
            output::complain("error", &error.to_string());
            error.exit().into()
        }
    }
}
