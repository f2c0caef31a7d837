//! Errors of reading and editing workspaces.

use std::path::{Path, PathBuf};

use thiserror::Error;

use super::edit::Operation;
use super::names::{list, nearest, quoted};
use super::problem::Report;

/// What can go wrong between a file and a model.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The input is endless, or longer than a workspace can be.
    #[error("{} is longer than {}, the most that is read. Check that it is the right file.", path.display(), size(*limit))]
    TooLong {
        /// Which file, pipe or device.
        path: PathBuf,
        /// Most bytes that are read.
        limit: u64,
    },
    /// A compressed file or an archive cannot be unpacked.
    #[error("cannot unpack {}: {message} {remedy}", path.display())]
    Unpack {
        /// Which file, and which member of it.
        path: PathBuf,
        /// What is wrong.
        message: String,
        /// What to do about it.
        remedy: String,
    },
    /// An archive has no such member, or none was chosen.
    #[error("{}", member(archive, name.as_deref(), *nameable, members))]
    Member {
        /// The archive.
        archive: PathBuf,
        /// What was asked for.
        name: Option<String>,
        /// Whether a member can be named: not for standard input, nor for an archive within another one.
        nameable: bool,
        /// The names there are, those of JSON files if it has any.
        members: Vec<String>,
    },
    /// A member was named, but the file is not an archive.
    #[error("{} is no archive, so it has no member {}. Give the file alone.", path.display(), quoted(member))]
    NoArchive {
        /// The file.
        path: PathBuf,
        /// What was asked for.
        member: String,
    },
    /// The text is not JSON.
    #[error("not valid JSON at line {line}, column {column}{}: {message} {remedy}",
        if path.is_empty() { String::new() } else { format!(" (in {path})") })]
    Syntax {
        /// Line, from 1.
        line: usize,
        /// Column in bytes, from 1; 0 where the text ends too early.
        column: usize,
        /// JSON pointer of the value that was being read; empty if unknown.
        path: String,
        /// What is wrong.
        message: String,
        /// What to do about it.
        remedy: String,
    },
    /// The text is JSON but not a valid workspace. Holds at least one error.
    #[error("{}", describe(report))]
    Invalid {
        /// Everything that was found.
        report: Report,
    },
    /// A patch cannot be read or applied.
    #[error("patch {origin}: {message} {remedy}")]
    Patch {
        /// File and, for a patchset, name of the patch.
        origin: String,
        /// What is wrong.
        message: String,
        /// What to do about it.
        remedy: String,
    },
    /// The text is JSON but not a valid patchset. Holds at least one error.
    #[error("patchset {origin}: {report}")]
    InvalidPatchset {
        /// The patchset.
        origin: String,
        /// Everything that was found.
        report: Report,
    },
    /// A patchset has no patch of this name or these values.
    #[error(
        "patchset {origin} has no patch {}.{} {}",
        quoted(name),
        meant(name, available),
        list("Its patches are", available)
    )]
    NoSuchPatch {
        /// The patchset.
        origin: String,
        /// What was asked for.
        name: String,
        /// The names there are.
        available: Vec<String>,
    },
    /// The patchset was made for another workspace.
    #[error(
        "patchset {origin} was made for another workspace: it expects one with {algorithm} digest {expected}, \
         but this one has {actual}. Use the background-only workspace that was published with the patchset, \
         unchanged, or switch the digest check off (--no-digest-check, digest_check=False) if the difference is intended."
    )]
    DigestMismatch {
        /// The patchset.
        origin: String,
        /// `sha256` or `md5`.
        algorithm: String,
        /// Digest written in the patchset.
        expected: String,
        /// Digest of the workspace at hand.
        actual: String,
    },
    /// A workspace is not valid after it was patched. The patches may be wrong, or belong to another workspace.
    #[error("with {} applied, {source}", patches_named(patches))]
    AfterPatch {
        /// Files of the patches and, for patchsets, their names.
        patches: Vec<String>,
        /// What is wrong; the paths are those of the patched workspace.
        source: Box<WorkspaceError>,
    },
    /// The workspace has no measurement of this name.
    #[error(
        "no measurement is called {}.{} {}",
        quoted(name),
        meant(name, available),
        list("The measurements are", available)
    )]
    NoSuchMeasurement {
        /// What was asked for.
        name: String,
        /// The names there are.
        available: Vec<String>,
    },
    /// The parameter in [`super::ModelOptions`] cannot be a parameter of interest.
    #[error("{} cannot be the parameter of interest: {message} {remedy}", quoted(name))]
    BadPoi {
        /// What was asked for.
        name: String,
        /// Why not.
        message: String,
        /// What to do about it.
        remedy: String,
    },
    /// An operation on a workspace cannot be done as asked. Holds at least one error.
    #[error("cannot {}{}", operation.infinitive(), counted(report))]
    CannotEdit {
        /// The operation.
        operation: Operation,
        /// All problems.
        report: Report,
    },
    /// A valid workspace would not be valid after an operation. Holds at least one error, whose
    /// paths are those of the result.
    #[error("the {} workspace would not be valid{}", operation.participle(), counted(report))]
    InvalidAfterEdit {
        /// The operation.
        operation: Operation,
        /// Everything that would be wrong.
        report: Report,
    },
}

impl WorkspaceError {
    /// The problems of an invalid workspace or patchset, or of an operation; empty for every other error.
    #[must_use]
    pub fn problems(&self) -> &[super::Problem] {
        match self {
            Self::Invalid { report }
            | Self::InvalidPatchset { report, .. }
            | Self::CannotEdit { report, .. }
            | Self::InvalidAfterEdit { report, .. } => &report.problems,
            Self::AfterPatch { source, .. } => source.problems(),
            _ => &[],
        }
    }

    /// Adds the patches that were applied to an error; without patches the error is unchanged.
    pub(crate) fn after(self, patches: &[String]) -> Self {
        if patches.is_empty() {
            return self;
        }
        Self::AfterPatch { patches: patches.to_vec(), source: Box::new(self) }
    }
}

/// The name that was probably meant, as a question.
fn meant(name: &str, available: &[String]) -> String {
    let near = nearest(name, available.iter().map(String::as_str));
    near.map_or_else(String::new, |near| format!(" Did you mean {}?", quoted(near)))
}

/// `patch a.json` or `patches a.json, b.json:name`.
fn patches_named(patches: &[String]) -> String {
    format!("patch{} {}", if patches.len() == 1 { "" } else { "es" }, patches.join(", "))
}

/// A number of bytes.
fn size(bytes: u64) -> String {
    match bytes >> 30 {
        0 => format!("{bytes} bytes"),
        n => format!("{n} GiB"),
    }
}

/// The remedy for a missing member: how to name one, and which ones exist.
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

/// All problems of a report under one headline.
fn describe(report: &Report) -> String {
    format!("the workspace has {}", counted(report).trim_start_matches(", "))
}

/// `, 2 errors:` and the problems.
fn counted(report: &Report) -> String {
    let errors = report.errors().count() + report.omitted;
    let plural = if errors == 1 { "" } else { "s" };
    format!(", {errors} error{plural}:\n{report}")
}
