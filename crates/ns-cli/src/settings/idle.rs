//! Settings that the run of a command has no use for. On the command line they are errors; in a file they are for other runs.

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use crate::args::without_data_tables;
use crate::style;

/// Returns whether the value of a flag, which comes from a file, does not apply: another flag of the command line excludes it,
/// or what it changes is not asked for. `matches` are all flags of the run, and `id` is the flag of its command.
pub(super) fn is_idle(program: &Command, matches: &ArgMatches, id: &str) -> bool {
    let Some((name, flags)) = matches.subcommand() else { return false };
    let Some(command) = program.find_subcommand(name) else { return false };
    is_excluded(command, flags, id) || has_no_use(command, matches, id)
}

/// Returns whether a flag of the command line excludes this one.
fn is_excluded(command: &Command, flags: &ArgMatches, id: &str) -> bool {
    let is_typed = |id: &str| {
        flags.try_contains_id(id).is_ok() && flags.value_source(id) == Some(ValueSource::CommandLine)
    };
    command.get_arguments().any(|arg| {
        let excluded = command.get_arg_conflicts_with(arg);
        let names = |id: &str| excluded.iter().any(|other| other.get_id() == id);
        // A conflict is declared on either side.
        (arg.get_id() == id && excluded.iter().any(|other| is_typed(other.get_id().as_str())))
            || (names(id) && is_typed(arg.get_id().as_str()))
    })
}

/// Returns whether nothing that is asked for is changed by a flag.
fn has_no_use(command: &Command, matches: &ArgMatches, id: &str) -> bool {
    let Some((name, flags)) = matches.subcommand() else { return false };
    let given = |id: &str| flags.try_contains_id(id).is_ok_and(|there| there);
    let word = |id: &str| {
        let values = flags.try_get_raw(id).ok().flatten();
        values.and_then(|mut values| values.next()?.to_str()).unwrap_or_default()
    };
    if style::DESCRIBING.contains(&id) {
        return !style::pictures(command).iter().any(|picture| given(picture));
    }
    match (name, id) {
        (_, "format") => word("format") == "hepdata" && without_data_tables(matches).is_some(),
        ("fit", "plot_log" | "plot_ratio") => {
            !["plot_prefit", "plot_postfit", "plot_summary"].into_iter().any(given)
        }
        ("fit", "plot_blind" | "plot_components") => !given("plot_prefit") && !given("plot_postfit"),
        ("yields", "plot_log" | "plot_ratio") => !given("plot") && !given("plot_summary"),
        ("yields", "plot_blind" | "plot_components") => !given("plot"),
        ("fit", "plot_threshold") => !given("plot_correlation"),
        ("gof" | "interval", "plot") => !given("toys"),
        ("gof" | "upper-limit", "plot_log") => !given("plot"),
        ("gof", "bins") => word("statistic") != "chi2",
        ("unfold", "tau") => word("regularisation") == "none",
        ("upper-limit", "mass" | "map" | "mc_stats") => given("patchset"),
        ("hypotest", "toys") => !is_point(flags),
        ("hypotest", "test_stat" | "expected_set") => is_point(flags),
        _ => false,
    }
}

/// Returns whether `--mu` names values, or has several.
fn is_point(flags: &ArgMatches) -> bool {
    let values = flags.try_get_many::<String>("mu").ok().flatten();
    let values: Vec<&String> = values.into_iter().flatten().collect();
    values.len() > 1 || values.iter().any(|value| value.contains(['=', ',']))
}
