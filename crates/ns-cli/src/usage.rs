//! The usage of commands that take a model as their first argument, and the words of errors about it.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};

/// Identifier of the argument that names the model.
const INPUT: &str = "input";

/// The model in usages.
const MODEL: &str = "<MODEL>";

/// Returns whether a command takes a model, which may be its first argument. Commands with other arguments that have no
/// flag do not.
pub(crate) fn takes_model(command: &Command) -> bool {
    command.get_arguments().any(is_input) && command.get_positionals().next().is_none()
}

/// Returns whether an argument names the model.
pub(crate) fn is_input(arg: &Arg) -> bool {
    arg.get_id() == INPUT
}

/// Gives a command of the program the usage with the model as the first argument, in its help, its errors and its page of
/// the manual. Other commands are left as they are.
pub(crate) fn model_first(command: Command) -> Command {
    let Some(input) = command.get_arguments().find(|arg| is_input(arg)).filter(|_| takes_model(&command))
    else {
        return command;
    };
    let model = if input.is_required_set() { MODEL } else { "[MODEL]" };
    let needed: String = command
        .get_arguments()
        .filter(|arg| arg.is_required_set() && !is_input(arg))
        .filter_map(with_value)
        .collect();
    let usage = format!("nextstat {} {model}{needed} [OPTIONS]", command.get_name());
    command.override_usage(usage)
}

/// Returns a flag with the names of its values, as in a usage. Clap writes only arguments of commands that it has built.
fn with_value(arg: &Arg) -> Option<String> {
    let names = arg.get_value_names().unwrap_or_default();
    let values: String = names.iter().map(|name| format!(" <{name}>")).collect();
    arg.get_long().map(|long| format!(" --{long}{values}"))
}

/// Makes an error about a missing model name it as the usage does.
pub(crate) fn with_model_named(mut error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return error;
    }
    if let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) {
        let named = |text: &String| match text.strip_prefix("--input ") {
            Some(_) => format!("{MODEL} (the first argument, or '--input' or '-i' before it)"),
            None => text.clone(),
        };
        let missing = missing.iter().map(named).collect();
        error.insert(ContextKind::InvalidArg, ContextValue::Strings(missing));
    }
    error
}

/// Makes an error about an unknown command suggest the one with the fewest changes of letters, if these are few.
/// Clap's measure of similarity suggests `selftest` for `ft`.
pub(crate) fn with_nearest_command(mut error: clap::Error, program: &Command) -> clap::Error {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let names = program
        .get_subcommands()
        .flat_map(|command| std::iter::once(command.get_name()).chain(command.get_visible_aliases()));
    let near = names
        .map(|name| (strsim::osa_distance(given, name), name))
        .filter(|(changes, _)| *changes <= (given.chars().count() / 3).max(1))
        .min();
    if let Some((_, name)) = near {
        let name = ContextValue::Strings(vec![name.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, name);
    }
    error
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::parse::described;

    fn message(words: &[&str]) -> String {
        let mut program = described();
        let error = program.try_get_matches_from_mut(words).unwrap_err();
        with_nearest_command(with_model_named(error), &program).to_string()
    }

    #[test]
    fn the_model_is_the_first_argument_of_usages() {
        let mut program = described();
        program.build();
        for (name, usage) in [
            ("fit", "Usage: nextstat fit <MODEL> [OPTIONS]"),
            ("report", "Usage: nextstat report <MODEL> --output <DIR> [OPTIONS]"),
            ("devices", "Usage: nextstat devices [MODEL] [OPTIONS]"),
            ("merge-toys", "Usage: nextstat merge-toys [OPTIONS] <FILE>..."),
        ] {
            let command = program.find_subcommand_mut(name).unwrap();
            assert_eq!(command.render_usage().to_string(), usage);
        }
    }

    #[test]
    fn a_missing_model_is_named_as_in_the_usage() {
        let text = message(&["nextstat", "fit"]);
        assert!(text.contains("  <MODEL> (the first argument"), "{text}");
        assert!(text.contains("Usage: nextstat fit <MODEL> [OPTIONS]"), "{text}");
    }

    #[test]
    fn the_nearest_command_is_suggested() {
        for (given, wanted) in
            [("ft", "'fit'"), ("rankings", "'ranking'"), ("limits", "'limit'"), ("yeilds", "'yields'")]
        {
            let text = message(&["nextstat", given]);
            assert!(text.contains(&format!("exists: {wanted}")), "{given}: {text}");
        }
    }
}
