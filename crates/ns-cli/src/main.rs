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
mod parse;
mod plot;
mod progress;
mod save;
mod settings;
mod start;
mod streams;
mod style;
mod table;
mod usage;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use parse::{described, parsed};

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
