//! Flags that say how pictures are drawn.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command};
use ns_inference::picture::{Style, StyleError};

use crate::error::CliError;

/// Flags that say how all pictures of a command are drawn.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct StyleArgs {
    /// Titles, names, axes, colours and what is left out of pictures, in TOML
    #[arg(long, value_name = "FILE")]
    plot_style: Option<PathBuf>,
    /// Draw only what has these names: parameters, channels of yields; names or patterns with * and ?; repeatable
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    plot_include: Vec<String>,
    /// Draw nothing that has these names or patterns; repeatable
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    plot_exclude: Vec<String>,
}

impl StyleArgs {
    /// Returns the style: that of the file, with the flags.
    ///
    /// # Errors
    /// If the file cannot be read, or is no style.
    pub(crate) fn style(&self) -> Result<Style, CliError> {
        let mut style = match &self.plot_style {
            Some(path) => read_style("--plot-style", path)?,
            None => Style::default(),
        };
        style.include.extend_from_slice(&self.plot_include);
        style.exclude.extend_from_slice(&self.plot_exclude);
        Ok(style)
    }
}

/// Flags that describe pictures of all kinds.
pub(crate) const DESCRIBING: [&str; 3] = ["plot_style", "plot_include", "plot_exclude"];

/// Returns a message if a command line describes pictures but asks for none. Settings of `nextstat.toml` are for the runs
/// that draw something.
pub(crate) fn without_picture(program: &Command, matches: &ArgMatches) -> Option<String> {
    let (name, flags) = matches.subcommand()?;
    let is_known = |id: &str| flags.try_contains_id(id).is_ok();
    let typed = |id: &str| is_known(id) && flags.value_source(id) == Some(ValueSource::CommandLine);
    let given = DESCRIBING.into_iter().find(|id| typed(id))?;
    let command = program.find_subcommand(name)?;
    let pictures = pictures(command);
    if pictures.iter().any(|id| flags.try_contains_id(id).is_ok_and(|there| there)) {
        return None;
    }
    let flag = |id: &str| format!("--{}", id.replace('_', "-"));
    let remedies: Vec<String> = pictures.iter().map(|id| format!("{} FILE", flag(id))).collect();
    Some(format!(
        "{} describes pictures, and this command draws none: add {}, or leave it out",
        flag(given),
        remedies.join(", ")
    ))
}

/// Returns the identifiers of the flags that name files of pictures.
pub(crate) fn pictures(command: &Command) -> Vec<&str> {
    let takes_file = |arg: &&clap::Arg| {
        let names = arg.get_value_names().unwrap_or_default();
        names.iter().any(|value| value.as_str() == "FILE")
    };
    let ids = command.get_arguments().filter(takes_file).map(|arg| arg.get_id().as_str());
    ids.filter(|id| id.starts_with("plot") && !DESCRIBING.contains(id)).collect()
}

/// Both ends of an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ends(pub(crate) [f64; 2]);

impl FromStr for Ends {
    type Err = String;

    /// Parses a text of the form `LOW:HIGH`.
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|x| x.is_finite());
        let ends = text.split_once(':').and_then(|(low, high)| Some([number(low)?, number(high)?]));
        let rising = ends.filter(|[low, high]| low < high);
        rising
            .map(Self)
            .ok_or_else(|| format!("'{text}' is no range; expected LOW:HIGH, for example 0.5:1.5"))
    }
}

/// Reads a style from the TOML file that a flag names.
///
/// # Errors
/// If the file cannot be read, or is no style.
pub(crate) fn read_style(flag: &str, path: &Path) -> Result<Style, CliError> {
    let wrong = |why: String| CliError::Usage(format!("{flag} {}: {}", path.display(), why.trim_end()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    toml::from_str(&text).map_err(|error| wrong(error.to_string()))
}

/// The error for a style that does not fit a picture.
pub(crate) fn unfit(error: &StyleError) -> CliError {
    CliError::Usage(format!("style of the picture: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_axes_rise() {
        assert_eq!("0.5:1.5".parse(), Ok(Ends([0.5, 1.5])));
        for wrong in ["1", "2:1", "1:1", "0:inf", "a:b", ""] {
            assert!(wrong.parse::<Ends>().is_err(), "{wrong}");
        }
    }
}
