//! Errors of reading datacards and of making models from them.

use thiserror::Error;

use crate::pyhf::names::{list, quoted};
use crate::pyhf::{Problem, Report, WorkspaceError};

/// Errors of reading a datacard and of making a model from it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CardError {
    /// The file cannot be read or unpacked.
    #[error(transparent)]
    Input(#[from] WorkspaceError),
    /// The card is not valid, or a file that it names cannot be used.
    #[error("the datacard {file} has {}", counted(report))]
    Invalid {
        /// Name of the card.
        file: String,
        /// All problems found, with at least one error. The path of a problem is `file:line`.
        report: Report,
    },
    /// An option has a value that cannot be used.
    #[error("{option} {}: {message} {remedy}", quoted(value))]
    BadOption {
        /// Name of the option, as in [`super::CardOptions`].
        option: &'static str,
        /// The value given.
        value: String,
        /// What is wrong.
        message: String,
        /// What the user can do.
        remedy: String,
    },
    /// An option names a channel that the card does not have, or leaves no channel.
    #[error("{}", no_channel(name, available))]
    NoSuchChannel {
        /// Name of the channel; empty if no channel is left.
        name: String,
        /// Names of the channels of the card.
        available: Vec<String>,
    },
}

impl CardError {
    /// Returns the problems of an invalid card. The list is empty for every other error.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        match self {
            Self::Invalid { report, .. } => &report.problems,
            Self::Input(source) => source.problems(),
            _ => &[],
        }
    }
}

impl From<CardError> for WorkspaceError {
    fn from(error: CardError) -> Self {
        match error {
            CardError::Input(source) => source,
            CardError::Invalid { file, report } => Self::InvalidCard { file, report },
            CardError::NoSuchChannel { name, available } => Self::NoSuchChannel { name, available },
            CardError::BadOption { option, value, message, remedy } => {
                Self::CardOption { message: format!("{option} {}: {message}", quoted(&value)), remedy }
            }
        }
    }
}

fn counted(report: &Report) -> String {
    let errors = report.errors().count() + report.omitted;
    let plural = if errors == 1 { "" } else { "s" };
    format!("{errors} error{plural}:\n{report}")
}

fn no_channel(name: &str, available: &[String]) -> String {
    let known = list("The channels are", available);
    if name.is_empty() {
        return format!("no channel is left. {known}");
    }
    let meant = crate::pyhf::names::nearest(name, available.iter().map(String::as_str));
    let meant = meant.map_or_else(String::new, |near| format!(" Did you mean {}?", quoted(near)));
    format!("no channel is called {}.{meant} {known}", quoted(name))
}
