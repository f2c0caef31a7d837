//! Errors of reading and editing workspaces.

use std::path::{Path, PathBuf};

use thiserror::Error;

use super::edit::Operation;
use super::listed::{ListedAnalysis, choose_analysis};
use super::names::{list, nearest, quoted};
use super::problem::Report;

/// Errors of reading, patching and editing a workspace, and of making a model from it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The input is longer than any workspace can be, or endless.
    #[error("{} is longer than {}, the most that is read. Check that it is the right file.", path.display(), size(*limit))]
    TooLong {
        /// The file, pipe or device.
        path: PathBuf,
        /// Largest number of bytes that are read.
        limit: u64,
    },
    /// A compressed file or an archive cannot be unpacked.
    #[error("cannot unpack {}: {message} {remedy}", path.display())]
    Unpack {
        /// The file, with the name of its member if one was named.
        path: PathBuf,
        /// What is wrong.
        message: String,
        /// What the user can do.
        remedy: String,
    },
    /// An archive has no member with the given name, or no member was named.
    #[error("{}", member(archive, name.as_deref(), *nameable, members))]
    Member {
        /// The archive.
        archive: PathBuf,
        /// Name of the requested member; `None` if no member was named.
        name: Option<String>,
        /// Whether a member of this archive can be named on the command line. This is impossible for standard
        /// input, and for an archive within another archive.
        nameable: bool,
        /// Names of the members. If there are JSON files among them, only JSON files are listed.
        members: Vec<String>,
    },
    /// A member was named, but the file is not an archive.
    #[error("{} is no archive, so it has no member {}. Give the file alone.", path.display(), quoted(member))]
    NoArchive {
        /// The file.
        path: PathBuf,
        /// Name of the requested member.
        member: String,
    },
    /// The file is in a format that is no model, or that is read from files only.
    #[error("the file is {what}. {remedy}")]
    OtherFormat {
        /// Name of the format.
        what: &'static str,
        /// What the user can do.
        remedy: &'static str,
    },
    /// An archive cannot be unpacked in memory, or has no model that can be read.
    #[error("{source}")]
    Archived {
        /// [`crate::ArchiveError`], or [`crate::build::BuildError`] of a configuration.
        source: Box<dyn std::error::Error + Send + Sync>,
        /// All problems of a configuration; empty for other errors.
        problems: Vec<super::Problem>,
    },
    /// XML of HistFactory cannot be read.
    #[error(transparent)]
    HistFactory(Box<crate::xml_error::HistFactoryError>),
    /// The text is not JSON.
    #[error("not valid JSON at line {line}, column {column}{}: {message} {remedy}",
        if path.is_empty() { String::new() } else { format!(" (in {path})") })]
    Syntax {
        /// Line of the error, counted from 1.
        line: usize,
        /// Column of the error in bytes, counted from 1; may be 0 if the text ends too early.
        column: usize,
        /// JSON pointer of the value that was being read; empty if unknown.
        path: String,
        /// What is wrong.
        message: String,
        /// What the user can do.
        remedy: String,
    },
    /// The text is JSON but not a valid workspace.
    #[error("{}", describe(report))]
    Invalid {
        /// All problems found, with at least one error.
        report: Report,
    },
    /// The file is no valid HS3 model.
    #[error("the HS3 model has {}", counted(report).trim_start_matches(", "))]
    InvalidHs3 {
        /// All problems found, with at least one error.
        report: Report,
    },
    /// A datacard of CMS Combine is not valid, or names files that cannot be used.
    #[error("the datacard {file} has {}", counted(report).trim_start_matches(", "))]
    InvalidCard {
        /// Name of the card.
        file: String,
        /// All problems found, with at least one error. The path of a problem is `file:line`.
        report: Report,
    },
    /// An option does not fit a datacard, or is for datacards and the file is none.
    #[error("{message} {remedy}")]
    CardOption {
        /// What is wrong.
        message: String,
        /// What the user can do.
        remedy: String,
    },
    /// Correlations of constraints cannot be read, or do not suit the model.
    #[error(transparent)]
    Correlations(#[from] crate::CorrelationsError),
    /// Axes of channels cannot be read, or do not suit the model.
    #[error(transparent)]
    Axes(#[from] crate::AxesError),
    /// A patch cannot be read or applied.
    #[error("patch {origin}: {message} {remedy}")]
    Patch {
        /// File and, for a patchset, name of the patch.
        origin: String,
        /// What is wrong.
        message: String,
        /// What the user can do.
        remedy: String,
    },
    /// The text is JSON but not a valid patchset.
    #[error("patchset {origin}: {report}")]
    InvalidPatchset {
        /// File of the patchset.
        origin: String,
        /// All problems found, with at least one error.
        report: Report,
    },
    /// A patchset has no patch with the given name or values.
    #[error(
        "patchset {origin} has no patch {}.{} {}",
        quoted(name),
        meant(name, available),
        list("Its patches are", available)
    )]
    NoSuchPatch {
        /// File of the patchset.
        origin: String,
        /// Name or values of the requested patch.
        name: String,
        /// Names of the patches in the patchset.
        available: Vec<String>,
    },
    /// The patchset was made for another workspace.
    #[error(
        "patchset {origin} was made for another workspace: it expects one with {algorithm} digest {expected}, \
         but this one has {actual}. Use the background-only workspace that was published with the patchset, \
         unchanged. If the difference is intended, switch the check off: --no-digest-check on the command line, digest_check \
         in Python and in requests to a server."
    )]
    DigestMismatch {
        /// File of the patchset and name of the patch.
        origin: String,
        /// Algorithm of the digest: `sha256` or `md5`.
        algorithm: String,
        /// Digest written in the patchset.
        expected: String,
        /// Digest of the workspace that was to be patched.
        actual: String,
    },
    /// A workspace is not valid after it was patched. The patches may be wrong, or belong to another
    /// workspace.
    #[error("with {} applied, {source}", patches_named(patches))]
    AfterPatch {
        /// Origins of the patches: file and, for a patchset, name of the patch.
        patches: Vec<String>,
        /// The error, with paths in the patched workspace.
        source: Box<WorkspaceError>,
    },
    /// The workspace has no measurement with the given name.
    #[error(
        "no measurement is called {}.{} {}",
        quoted(name),
        meant(name, available),
        list("The measurements are", available)
    )]
    NoSuchMeasurement {
        /// Name of the requested measurement.
        name: String,
        /// Names of the measurements in the workspace.
        available: Vec<String>,
    },
    /// An option for pyhf workspaces was given with an HS3 file.
    #[error("{what} was given, but the file is an HS3 model. {remedy}")]
    NotForHs3 {
        /// Name of the option.
        what: &'static str,
        /// What the user can do.
        remedy: &'static str,
    },
    /// Events were given with a pyhf workspace.
    #[error(
        "events were given, but the file is a pyhf workspace, whose data are counts. Give data= instead, or use an HS3 model."
    )]
    EventsForWorkspace,
    /// The HS3 file has several analyses, and the given name does not select one of them.
    #[error("{}", choose_analysis(name.as_deref(), available))]
    ChooseAnalysis {
        /// Name that was given; `None` if no name was given.
        name: Option<String>,
        /// The analyses in the file, or its likelihoods if it has no analyses.
        available: Vec<ListedAnalysis>,
    },
    /// A channel with the given name does not exist, or all channels were left out.
    #[error("{}", no_channel(name, available))]
    NoSuchChannel {
        /// Name of the channel; empty if all channels were left out.
        name: String,
        /// Names of the channels.
        available: Vec<String>,
    },
    /// The parameter in [`super::ModelOptions`] cannot be a parameter of interest.
    #[error("{} cannot be the parameter of interest: {message} {remedy}", quoted(name))]
    BadPoi {
        /// Name of the requested parameter.
        name: String,
        /// Why the parameter cannot be the parameter of interest.
        message: String,
        /// What the user can do.
        remedy: String,
    },
    /// An operation on a workspace cannot be carried out.
    #[error("cannot {}{}", operation.infinitive(), counted(report))]
    CannotEdit {
        /// The requested operation.
        operation: Operation,
        /// All problems found, with at least one error.
        report: Report,
    },
    /// An operation would make a valid workspace invalid.
    #[error("the {} workspace would not be valid{}", operation.participle(), counted(report))]
    InvalidAfterEdit {
        /// The requested operation.
        operation: Operation,
        /// The errors, at least one, with paths in the resulting workspace.
        report: Report,
    },
}

impl From<crate::xml_error::HistFactoryError> for WorkspaceError {
    fn from(error: crate::xml_error::HistFactoryError) -> Self {
        Self::HistFactory(Box::new(error))
    }
}

impl WorkspaceError {
    /// Returns the problems of an invalid workspace or patchset, or of an operation that was refused. The
    /// list is empty for every other error.
    #[must_use]
    pub fn problems(&self) -> &[super::Problem] {
        match self {
            Self::Invalid { report }
            | Self::InvalidHs3 { report }
            | Self::InvalidCard { report, .. }
            | Self::InvalidPatchset { report, .. }
            | Self::CannotEdit { report, .. }
            | Self::InvalidAfterEdit { report, .. } => &report.problems,
            Self::AfterPatch { source, .. } => source.problems(),
            Self::Archived { problems, .. } => problems,
            _ => &[],
        }
    }

    /// Adds the names of the applied patches to an error. Without patches, the error does not change.
    pub(crate) fn after(self, patches: &[String]) -> Self {
        if patches.is_empty() {
            return self;
        }
        Self::AfterPatch { patches: patches.to_vec(), source: Box::new(self) }
    }
}

/// Returns a question such as "Did you mean 'x'?" with the nearest available name; empty if no name is near.
pub(crate) fn meant(name: &str, available: &[String]) -> String {
    let near = nearest(name, available.iter().map(String::as_str));
    near.map_or_else(String::new, |near| format!(" Did you mean {}?", quoted(near)))
}

/// Writes a message that lists the available channels.
fn no_channel(name: &str, available: &[String]) -> String {
    let known = list("The channels are", available);
    if name.is_empty() {
        return format!("no channel is left. {known}");
    }
    format!("no channel is called {}.{} {known}", quoted(name), meant(name, available))
}

/// Lists patches in the form `patch a.json` or `patches a.json, b.json:name`.
fn patches_named(patches: &[String]) -> String {
    format!("patch{} {}", if patches.len() == 1 { "" } else { "es" }, patches.join(", "))
}

/// Formats a number of bytes. From 1 GiB on, it is given in whole GiB.
fn size(bytes: u64) -> String {
    match bytes >> 30 {
        0 => format!("{bytes} bytes"),
        n => format!("{n} GiB"),
    }
}

/// Writes the message for a missing member: how to name a member, and the names of the existing members.
fn member(archive: &Path, name: Option<&str>, nameable: bool, members: &[String]) -> String {
    let archive = archive.display();
    let known = list("Its files are", members);
    let Some(name) = name else {
        let example = members.first().map_or("NAME", String::as_str);
        return if nameable {
            format!("{archive} is an archive. Name a file in it, such as {archive}:{example}. {known}")
        } else {
            format!(
                "{archive} is an archive. Save it as a file ARCHIVE and name a file in it, such as ARCHIVE:{example}. {known}"
            )
        };
    };
    let near = nearest(name, members.iter().map(String::as_str)).or_else(|| {
        let file = |path: &str| path.rsplit('/').next().map(str::to_owned);
        members.iter().map(String::as_str).find(|member| file(member) == file(name))
    });
    let near = near.map_or(String::new(), |near| format!(" Did you mean {}?", quoted(near)));
    format!("{archive} has no file {}.{near} {known}", quoted(name))
}

/// Writes the problems of a report under a headline with the number of errors.
fn describe(report: &Report) -> String {
    format!("the workspace has {}", counted(report).trim_start_matches(", "))
}

/// Writes `, 2 errors:` and then the problems of a report.
fn counted(report: &Report) -> String {
    let errors = report.errors().count() + report.omitted;
    let plural = if errors == 1 { "" } else { "s" };
    format!(", {errors} error{plural}:\n{report}")
}
