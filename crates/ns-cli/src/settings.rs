//! Values of flags from the file `nextstat.toml`. They are defaults: a flag on the command line has priority.

mod idle;

use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use toml::{Table, Value};

use crate::error::CliError;

/// Environment variable with the name of the file. An empty name means that no file is read.
const VARIABLE: &str = "NEXTSTAT_CONFIG";

/// Name of the file in the current folder.
const FILE: &str = "nextstat.toml";

/// Table of the file that holds for all commands that have its flags.
const ALL: &str = "all";

/// The flags that a file sets.
pub(crate) struct Settings {
    path: PathBuf,
    table: Table,
    given: Vec<Setting>,
    /// Commands and identifiers of the flags that are left out.
    idle: Vec<(String, String)>,
}

struct Setting {
    command: String,
    /// Identifier of the flag.
    id: String,
    /// The flag with its value, as on a command line.
    shown: String,
}

impl Setting {
    /// Returns whether a command was run with this value. `flags` are the parsed flags of the command.
    fn is_used(&self, command: &str, flags: &ArgMatches) -> bool {
        self.command == command && flags.value_source(&self.id) == Some(ValueSource::DefaultValue)
    }
}

impl Settings {
    /// Reads the file that the environment names, or that of the current folder, and makes its values the defaults of
    /// the flags of `program`. Returns the program and what the file sets; `None` if there is no file.
    ///
    /// # Errors
    /// If the file cannot be read, is not TOML, or has a command, flag or type of value that does not exist.
    pub(crate) fn apply(program: Command) -> Result<(Command, Option<Self>), CliError> {
        let path = match std::env::var_os(VARIABLE) {
            Some(name) if name.is_empty() => return Ok((program, None)),
            Some(name) => PathBuf::from(name),
            None if Path::new(FILE).is_file() => PathBuf::from(FILE),
            None => return Ok((program, None)),
        };
        let wrong = |why: String| CliError::Usage(format!("{}: {why}", path.display()));
        let text =
            std::fs::read_to_string(&path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
        let table: Table = text.parse().map_err(|error: toml::de::Error| wrong(error.to_string()))?;
        let (program, given) = applied(program, &table, &[]).map_err(wrong)?;
        Ok((program, Some(Self { path, table, given, idle: Vec::new() })))
    }

    /// Leaves out the settings that do not apply to a run. Returns the program without them; `None` if all of them apply. `plain`
    /// is the program without settings, `program` that with them, and `matches` are all flags of the run.
    ///
    /// # Errors
    /// The errors of [`Self::apply`].
    pub(crate) fn without_idle(
        &mut self,
        plain: &Command,
        program: &Command,
        matches: &ArgMatches,
    ) -> Result<Option<Command>, CliError> {
        let Some((name, flags)) = matches.subcommand() else { return Ok(None) };
        let before = self.idle.len();
        let used = self.given.iter().filter(|setting| setting.is_used(name, flags));
        let idle = used.filter(|setting| idle::is_idle(program, matches, &setting.id));
        self.idle.extend(idle.map(|setting| (setting.command.clone(), setting.id.clone())));
        if self.idle.len() == before {
            return Ok(None);
        }
        let (program, given) = applied(plain.clone(), &self.table, &self.idle)
            .map_err(|why| CliError::Usage(format!("{}: {why}", self.path.display())))?;
        self.given = given;
        Ok(Some(program))
    }

    /// Returns a line about all settings of a command, for an error in one of them; `None` if there are none.
    pub(crate) fn all(&self, command: &str) -> Option<String> {
        self.line(|setting| setting.command == command)
    }

    /// Returns a line about the settings of a command that were used; `None` if there are none. `flags` are the parsed
    /// flags of this command.
    pub(crate) fn used(&self, command: &str, flags: &ArgMatches) -> Option<String> {
        self.line(|setting| setting.is_used(command, flags))
    }

    fn line(&self, is_shown: impl Fn(&Setting) -> bool) -> Option<String> {
        let settings = self.given.iter().filter(|setting| is_shown(setting));
        let shown: Vec<&str> = settings.map(|setting| setting.shown.as_str()).collect();
        (!shown.is_empty()).then(|| format!("{} ({})", shown.join(" "), self.path.display()))
    }
}

/// Makes the values of `table` the defaults of flags. The flags of a command have priority over those of all commands. `idle`
/// are commands and flags whose values are left out.
fn applied(
    mut program: Command,
    table: &Table,
    idle: &[(String, String)],
) -> Result<(Command, Vec<Setting>), String> {
    let names: Vec<String> = program.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let mut given = Vec::new();
    for (place, flags) in table {
        let Value::Table(flags) = flags else {
            return Err(format!(
                "'{place}' stands outside of a table; write it below [all] or a command, such as [fit]"
            ));
        };
        let commands: Vec<&String> = names.iter().filter(|name| place == ALL || *name == place).collect();
        if commands.is_empty() {
            return Err(format!("[{place}] is no command; known are {ALL}, {}", names.join(", ")));
        }
        for (flag, value) in flags {
            let mut is_known = false;
            for command in &commands {
                if place == ALL && table.get(*command).is_some_and(|own| own.get(flag).is_some()) {
                    is_known = true;
                    continue;
                }
                let Some(id) = program.find_subcommand(command).and_then(|command| identifier(command, flag))
                else {
                    continue;
                };
                is_known = true;
                let values = texts(value).ok_or_else(|| {
                    format!("[{place}] {flag}: expected a text, a number, true, false, or a list of these")
                })?;
                if idle.iter().any(|(of, flag)| of == *command && *flag == id) {
                    continue;
                }
                let shown = match value {
                    Value::Boolean(true) => format!("--{flag}"),
                    _ => format!("--{flag} {}", values.join(",")),
                };
                given.push(Setting { command: (*command).clone(), id: id.clone(), shown });
                program = program.mut_subcommand(command.as_str(), |command| {
                    command.mut_arg(id, |arg| arg.required(false).default_values(values))
                });
            }
            if !is_known {
                return Err(match place == ALL {
                    true => format!("[{place}] {flag}: no command has this flag"),
                    false => {
                        format!("[{place}] {flag}: `nextstat {place}` has no such flag; its --help lists all")
                    }
                });
            }
        }
    }
    Ok((program, given))
}

/// Returns the identifier of the flag of a command with a long name.
fn identifier(command: &Command, flag: &str) -> Option<String> {
    let is_it = |arg: &&clap::Arg| {
        arg.get_long() == Some(flag) || arg.get_all_aliases().is_some_and(|names| names.contains(&flag))
    };
    command.get_arguments().find(is_it).map(|arg| arg.get_id().to_string())
}

/// Returns a value as the texts of a command line; `None` for values that no flag has.
fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Integer(number) => Some(vec![number.to_string()]),
        Value::Float(number) => Some(vec![number.to_string()]),
        Value::Boolean(is_set) => Some(vec![is_set.to_string()]),
        Value::Array(items) => {
            let items = items.iter().map(texts).collect::<Option<Vec<_>>>()?;
            let items: Vec<String> = items.into_iter().flatten().collect();
            (!items.is_empty()).then_some(items)
        }
        Value::Datetime(_) | Value::Table(_) => None,
    }
}
