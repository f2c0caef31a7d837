//! The `nextstat` program: parses flags, calls the library crates and prints results.

mod args;
mod commands;
mod contents;
mod data_args;
mod document;
mod effects;
mod error;
mod event_plot;
mod examples;
mod expectation;
mod guard;
mod interrupt;
mod job;
mod load;
mod output;
mod plot;
mod progress;
mod save;
mod settings;
mod start;
mod streams;
mod style;
mod table;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgMatches, Command, CommandFactory, FromArgMatches, Parser, Subcommand};

/// Statistical inference for models of bins and events (workspaces of pyhf, HistFactory XML, datacards, HS3 files).
#[derive(Debug, Parser)]
#[command(
    name = "nextstat",
    version,
    after_help = "Exit codes: 0 done; 1 the analysis failed (say, the fit did not converge); 2 wrong usage or \
                  invalid input; 3 the device asked for is not there; 130 interrupted, finished part written.\n\n\
                  Examples:\n  nextstat inspect ws.json\n  nextstat fit ws.json --plot pulls.pdf"
)]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Find the best fit with its uncertainties
    Fit(commands::fit::FitArgs),
    /// Scan the profile likelihood in one or two parameters
    Scan(commands::scan::ScanArgs),
    /// Find the confidence interval of a parameter (with toys: Feldman-Cousins)
    Interval(commands::interval::IntervalArgs),
    /// Find the confidence region of two parameters (with toys: Feldman-Cousins)
    Region(commands::region::RegionArgs),
    /// Sample the posterior: credible intervals and limits
    Sample(commands::sample::SampleArgs),
    /// Test whether all channels have the same value of the parameter of interest
    Compatibility(commands::compatibility::CompatibilityArgs),
    /// Make a simplified likelihood of the signal regions
    Simplify(commands::simplify::SimplifyArgs),
    /// Unfold: find the distribution of the truth from the data
    Unfold(commands::unfold::UnfoldArgs),
    /// Rank nuisance parameters by their impact on the parameter of interest
    Ranking(commands::ranking::RankingArgs),
    /// Test a value of the parameter of interest (asymptotic CLs)
    #[command(visible_alias = "cls")]
    Hypotest(commands::hypotest::HypotestArgs),
    /// Test a value of the parameter of interest with toys (CLs without asymptotic formulae)
    HypotestToys(commands::hypotest_toys::HypotestToysArgs),
    /// Merge saved shards of toys and find their common result
    MergeToys(commands::merge_toys::MergeToysArgs),
    /// Fit toys drawn at a known point: bias, pulls and coverage of parameters
    Toys(commands::toys::ToysArgs),
    /// Find the CLs upper limit on the parameter of interest
    #[command(visible_alias = "limit")]
    UpperLimit(commands::upper_limit::UpperLimitArgs),
    /// Find the significance of a discovery
    Significance(commands::significance::SignificanceArgs),
    /// Find the significance of a signal that was searched at many places, such as masses
    LookElsewhere(commands::look_elsewhere::LookElsewhereArgs),
    /// Find the signal that a model finds in other backgrounds without signal
    SpuriousSignal(commands::spurious_signal::SpuriousArgs),
    /// Test the goodness of fit against the saturated model
    Gof(commands::gof::GofArgs),
    /// Predict the events of every channel and sample, with uncertainties, and the data beside them
    Yields(commands::yields::YieldsArgs),
    /// Draw a result again, from the JSON that a command wrote
    Draw(commands::draw::DrawArgs),
    /// Run the usual analyses and write a folder with a page that shows them
    Report(commands::report::ReportArgs),
    /// Build a workspace from a configuration file and the histograms that it names
    Build(commands::build::BuildArgs),
    /// Show what is in a workspace
    Inspect(commands::inspect::InspectArgs),
    /// Find every problem of a workspace
    Validate(commands::validate::ValidateArgs),
    /// Apply patches to a workspace
    Patch(commands::patch::PatchArgs),
    /// Remove channels, samples, modifiers or small systematics from a workspace
    Prune(commands::prune::PruneArgs),
    /// Make a parameter independent parameters, one per channel, sample or region
    Decorrelate(commands::decorrelate::DecorrelateArgs),
    /// Rename channels, samples, modifiers or measurements of a workspace
    Rename(commands::rename::RenameArgs),
    /// Combine workspaces, or datacards, into one
    Combine(commands::combine::CombineArgs),
    /// Combine given results with correlated uncertainties (best linear unbiased estimate)
    Blue(commands::blue::BlueArgs),
    /// Sort a workspace by name
    Sort(commands::sort::SortArgs),
    /// Write a model in another format: HS3 or HistFactory XML
    Convert(commands::convert::ConvertArgs),
    /// Print the digest of a workspace
    Digest(commands::digest::DigestArgs),
    /// List the devices that fits can run on, and why others cannot be used
    Devices(commands::devices::DevicesArgs),
    /// Test whether a device computes what the CPU does, on this machine
    Selftest(commands::selftest::SelftestArgs),
    /// Print the licences of this program and of its font
    Licences(commands::licences::LicencesArgs),
    /// Print the completions of this command line for a shell
    Completions(commands::completions::CompletionsArgs),
    /// Write manual pages
    Man(commands::man::ManArgs),
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
    let command = described().mut_subcommands(|command| command.mut_args(values));
    let (mut command, settings) = settings::Settings::apply(command).unwrap_or_else(|error| {
        output::complain("error", &error.to_string());
        std::process::exit(i32::from(error.exit() as u8))
    });
    let arguments = with_input(std::env::args_os().collect(), &command);
    let name = arguments.get(1).map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let matches = command.try_get_matches_from_mut(arguments).unwrap_or_else(|error| {
        // The wrong value may be one of the file.
        if matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation)
            && let Some(given) = settings.as_ref().and_then(|settings| settings.all(&name))
        {
            output::complain("settings", &given);
        }
        with_tip(error).exit()
    });
    let quiet = matches.subcommand().is_some_and(|(_, flags)| is_quiet(flags));
    output::announce_files(!quiet);
    if let (Some(settings), Some((name, flags)), false) = (&settings, matches.subcommand(), quiet)
        && let Some(used) = settings.used(name, flags)
    {
        output::complain("settings", &used);
    }
    if let Some(name) = without_data_tables(&matches) {
        let message = format!(
            "nextstat {name} has no tables for HEPData, only {} have; give another --format\n",
            WITH_DATA_TABLES.join(", ")
        );
        command.error(ErrorKind::InvalidValue, message).exit()
    }
    if let Some(message) = style::without_picture(&command, &matches) {
        command.error(ErrorKind::MissingRequiredArgument, message).exit()
    }
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut command).exit())
}

/// Returns the description of the command line, with examples.
fn described() -> Command {
    Cli::command().mut_subcommands(|command| {
        examples::add(command).mut_args(|arg| match arg.get_id() == "input" {
            true => {
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                arg.help(format!("{help}; may be the first argument, without -i"))
            }
            false => arg,
        })
    })
}

/// Puts `-i` before the model if it is the first argument of a command. Commands with other arguments that have no flag
/// are left as they are.
fn with_input(mut arguments: Vec<OsString>, program: &Command) -> Vec<OsString> {
    let command = arguments.get(1).and_then(|name| program.find_subcommand(name));
    let takes_input = command.is_some_and(|command| {
        command.get_arguments().any(|arg| arg.get_id() == "input")
            && command.get_positionals().next().is_none()
    });
    let is_model = |first: &OsString| first == "-" || !first.as_encoded_bytes().starts_with(b"-");
    if takes_input && arguments.get(2).is_some_and(is_model) {
        arguments.insert(2, "-i".into());
    }
    arguments
}

fn is_quiet(flags: &ArgMatches) -> bool {
    flags.try_get_one::<bool>("quiet").ok().flatten().copied().unwrap_or(false)
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
        let tip = "to name the workspace, write it first, or '--input' or '-i' before the file".to_owned();
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
        Task::Fit(args) => commands::fit::run(&args),
        Task::Scan(args) => commands::scan::run(&args),
        Task::Interval(args) => commands::interval::run(&args),
        Task::Region(args) => commands::region::run(&args),
        Task::Sample(args) => commands::sample::run(&args),
        Task::Compatibility(args) => commands::compatibility::run(&args),
        Task::Simplify(args) => commands::simplify::run(&args),
        Task::Unfold(args) => commands::unfold::run(&args),
        Task::Ranking(args) => commands::ranking::run(&args),
        Task::Hypotest(args) => commands::hypotest::run(&args),
        Task::HypotestToys(args) => commands::hypotest_toys::run(&args),
        Task::MergeToys(args) => commands::merge_toys::run(&args),
        Task::Toys(args) => commands::toys::run(&args),
        Task::UpperLimit(args) => commands::upper_limit::run(&args),
        Task::Significance(args) => commands::significance::run(&args),
        Task::LookElsewhere(args) => commands::look_elsewhere::run(&args),
        Task::SpuriousSignal(args) => commands::spurious_signal::run(&args),
        Task::Gof(args) => commands::gof::run(&args),
        Task::Yields(args) => commands::yields::run(&args),
        Task::Draw(args) => commands::draw::run(&args),
        Task::Report(args) => commands::report::run(&args),
        Task::Build(args) => commands::build::run(&args),
        Task::Inspect(args) => commands::inspect::run(&args),
        Task::Validate(args) => commands::validate::run(&args),
        Task::Patch(args) => commands::patch::run(&args),
        Task::Prune(args) => commands::prune::run(&args),
        Task::Decorrelate(args) => commands::decorrelate::run(&args),
        Task::Rename(args) => commands::rename::run(&args),
        Task::Combine(args) => commands::combine::run(&args),
        Task::Blue(args) => commands::blue::run(&args),
        Task::Sort(args) => commands::sort::run(&args),
        Task::Convert(args) => commands::convert::run(&args),
        Task::Digest(args) => commands::digest::run(&args),
        Task::Devices(args) => commands::devices::run(&args),
        Task::Selftest(args) => commands::selftest::run(&args),
        Task::Licences(args) => commands::licences::run(&args),
        Task::Completions(args) => commands::completions::run(&args, described()),
        Task::Man(args) => commands::man::run(&args, described()),
    };
    match outcome {
        Ok(code) => code.into(),
        Err(error) => {
            output::complain("error", &error.to_string());
            error.exit().into()
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn every_command_has_two_examples_that_are_right() {
        let program = described();
        for command in program.get_subcommands().filter(|command| command.get_name() != "help") {
            let name = command.get_name();
            let examples = examples::EXAMPLES.iter().find(|(known, _)| *known == name);
            let (_, examples) = examples.unwrap_or_else(|| panic!("{name} has no examples"));
            for example in examples {
                // Redirections, pipes and patterns are the shell's.
                let line = example.split(" > ").next().unwrap().split(" | ").next().unwrap();
                let line = line.split(" && ").next().unwrap();
                assert!(line.starts_with(&format!("nextstat {name}")), "{example}");
                let parsed = program.clone().try_get_matches_from(with_input(words(line), &program));
                assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
            }
            let help = command.clone().render_help().to_string();
            assert!(help.contains(examples[0]), "{name}");
        }
    }

    #[test]
    fn a_model_may_be_the_first_argument() {
        let program = described();
        let given = |line: &str| {
            let words: Vec<String> = with_input(words(line), &program)
                .into_iter()
                .map(|word| word.into_string().unwrap())
                .collect();
            words.join(" ")
        };
        for (line, wanted) in [
            ("nextstat fit ws.json", "nextstat fit -i ws.json"),
            ("nextstat limit ws.json --cl 0.9", "nextstat limit -i ws.json --cl 0.9"),
            ("nextstat fit -", "nextstat fit -i -"),
            ("nextstat fit -i ws.json", "nextstat fit -i ws.json"),
            ("nextstat fit --asimov -i ws.json", "nextstat fit --asimov -i ws.json"),
            ("nextstat merge-toys a.parquet", "nextstat merge-toys a.parquet"),
            ("nextstat nonsense ws.json", "nextstat nonsense ws.json"),
            ("nextstat", "nextstat"),
        ] {
            assert_eq!(given(line), wanted);
        }
    }
}
