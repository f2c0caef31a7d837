//! Parses the command line, with the settings of a file and the model as the first argument.

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgMatches, Command, CommandFactory, FromArgMatches};

use crate::usage::{self, is_input};
use crate::{Cli, args, error, examples, output, settings, style};

/// Parses the command line. A negative number after a flag is read as the value of the flag, not as another flag. If
/// the flag does not accept that value, the error message can therefore list the possible values.
pub(crate) fn parsed() -> Cli {
    let values = |arg: Arg| {
        let one = arg.get_action().takes_values() && !arg.is_positional();
        if one { arg.allow_negative_numbers(true) } else { arg }
    };
    let command = described().mut_subcommands(|command| command.mut_args(values));
    let plain = command.clone();
    let (mut command, mut settings) =
        settings::Settings::apply(command).unwrap_or_else(|error| complained(&error));
    let arguments = with_input(std::env::args_os().collect(), &command);
    let name = arguments.get(1).map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut parsed = command.try_get_matches_from_mut(arguments.clone());
    // What does not apply may be all that another setting is for.
    while let (Some(settings), Ok(matches)) = (&mut settings, &parsed) {
        match settings.without_idle(&plain, &command, matches).unwrap_or_else(|error| complained(&error)) {
            Some(program) => command = program,
            None => break,
        }
        parsed = command.try_get_matches_from_mut(arguments.clone());
    }
    let matches = parsed.unwrap_or_else(|error| {
        // The wrong value may be one of the file.
        if matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation)
            && let Some(given) = settings.as_ref().and_then(|settings| settings.all(&name))
        {
            output::complain("settings", &given);
        }
        usage::with_nearest_command(usage::with_model_named(with_tip(error)), &command).exit()
    });
    let quiet = matches.subcommand().is_some_and(|(_, flags)| is_quiet(flags));
    output::announce_files(!quiet);
    if let (Some(settings), Some((name, flags)), false) = (&settings, matches.subcommand(), quiet)
        && let Some(used) = settings.used(name, flags)
    {
        output::complain("settings", &used);
    }
    if let Some(name) = args::without_data_tables(&matches) {
        let message = format!(
            "nextstat {name} has no tables for HEPData, only {} have; give another --format\n",
            args::WITH_DATA_TABLES.join(", ")
        );
        command.error(ErrorKind::InvalidValue, message).exit()
    }
    if let Some(message) = style::without_picture(&command, &matches) {
        command.error(ErrorKind::MissingRequiredArgument, message).exit()
    }
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut command).exit())
}

/// Ends the program with an error.
fn complained<T>(error: &error::CliError) -> T {
    output::complain("error", &error.to_string());
    std::process::exit(i32::from(error.exit() as u8))
}

/// Returns the description of the command line, with examples.
pub(crate) fn described() -> Command {
    Cli::command().mut_subcommands(|command| {
        usage::model_first(examples::add(command)).mut_args(|arg| match is_input(&arg) {
            true => {
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                arg.help(format!("{help}; may be the first argument, without -i"))
            }
            false => arg,
        })
    })
}

/// Puts `-i` before the model if it is the first argument of a command.
fn with_input(mut arguments: Vec<OsString>, program: &Command) -> Vec<OsString> {
    let command = arguments.get(1).and_then(|name| program.find_subcommand(name));
    let takes_input = command.is_some_and(usage::takes_model);
    let is_model = |first: &OsString| first == "-" || !first.as_encoded_bytes().starts_with(b"-");
    if takes_input && arguments.get(2).is_some_and(is_model) {
        arguments.insert(2, "-i".into());
    }
    arguments
}

fn is_quiet(flags: &ArgMatches) -> bool {
    flags.try_get_one::<bool>("quiet").ok().flatten().copied().unwrap_or(false)
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
