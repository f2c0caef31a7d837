//! The argument of `--patch FILE[:NAME]` on the command line.

use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::{Patch, Patchset};
use crate::pyhf::error::WorkspaceError;
use crate::pyhf::input::read_file;
use crate::pyhf::mark::without_mark;
use crate::pyhf::names::{list, quoted};
use crate::pyhf::problem::Report;

/// The file name that means standard input.
const STANDARD_INPUT: &str = "-";

/// A patch as a user names it: a JSON Patch file, or a patchset and one of its patches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchArgument {
    /// Path of the file, or `-` for standard input.
    pub file: PathBuf,
    /// Name or comma-separated values of a patch in a patchset, if given.
    pub name: Option<String>,
}

impl FromStr for PatchArgument {
    type Err = Infallible;

    /// Parses `FILE` or `FILE:NAME`. File and name may both contain colons. A text that is an existing file
    /// or `-` (standard input) has no name. Otherwise the file is the longest part before a colon that is an
    /// existing file or `-`. If there is no such part, the text is split at the first colon after which there
    /// is a name without slash or backslash. The text `C:\patch.json` is therefore not split.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        let splits =
            || text.match_indices(':').filter_map(|(at, _)| Some((text.get(..at)?, text.get(at + 1..)?)));
        let splits = || splits().filter(|(file, _)| !file.is_empty());
        let named =
            |(file, name): (&str, &str)| Self { file: PathBuf::from(file), name: Some(name.to_owned()) };
        let whole = Self { file: PathBuf::from(text), name: None };
        if is_there(text) {
            return Ok(whole);
        }
        let there = splits().rfind(|(file, _)| is_there(file));
        let likely = || splits().find(|(_, name)| !name.is_empty() && !name.contains(['/', '\\']));
        Ok(there.or_else(likely).map_or(whole, named))
    }
}

/// Returns whether `file` is an existing file or pipe, or stands for standard input.
fn is_there(file: &str) -> bool {
    file == STANDARD_INPUT || Path::new(file).metadata().is_ok_and(|found| !found.is_dir())
}

impl fmt::Display for PatchArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(name) = &self.name {
            write!(f, ":{name}")?;
        }
        Ok(())
    }
}

impl PatchArgument {
    /// Returns whether the file is `-`. In this case the caller must read standard input and call
    /// [`Self::parse`].
    #[must_use]
    pub fn is_standard_input(&self) -> bool {
        self.file.as_os_str() == STANDARD_INPUT
    }

    /// Reads the patch from the file.
    ///
    /// # Errors
    /// If the file cannot be read or is neither a JSON Patch nor a patchset; if a name is missing for a patchset or
    /// given for a JSON Patch; [`WorkspaceError::NoSuchPatch`] if the patchset has no such patch.
    pub fn load(&self) -> Result<Patch, WorkspaceError> {
        match (read_file(&self.file), &self.name) {
            (Err(WorkspaceError::Member { name: None, .. }), Some(name)) => self.load_member(name),
            (text, _) => self.parse(&text?),
        }
    }

    /// Reads a patch from an archive. `name` is `MEMBER` or `MEMBER:NAME`.
    fn load_member(&self, name: &str) -> Result<Patch, WorkspaceError> {
        let mut member = name;
        loop {
            let mut file = self.file.clone().into_os_string();
            file.push(":");
            file.push(member);
            let patch = name.get(member.len() + 1..).map(str::to_owned);
            let argument = Self { file: PathBuf::from(file), name: patch };
            match (read_file(&argument.file), member.rsplit_once(':')) {
                (Err(WorkspaceError::Member { .. }), Some((shorter, _))) => member = shorter,
                (text, _) => return argument.parse(&text?),
            }
        }
    }

    /// Reads the patch from text that the caller has read.
    ///
    /// # Errors
    /// The errors of [`PatchArgument::load`], apart from errors of reading the file.
    pub fn parse(&self, text: &[u8]) -> Result<Patch, WorkspaceError> {
        let standard = self.is_standard_input();
        let origin = if standard { "standard input".to_owned() } else { self.file.display().to_string() };
        let first =
            without_mark(text, &mut Report::default()).iter().find(|byte| !byte.is_ascii_whitespace());
        match (first, &self.name) {
            (Some(b'['), None) => Patch::from_slice(text, &origin),
            (Some(b'['), Some(name)) => Err(WorkspaceError::Patch {
                origin,
                message: format!(
                    "The file is a single JSON Patch, which has no patch named {}.",
                    quoted(name)
                ),
                remedy: "Give the file without a name.".to_owned(),
            }),
            (_, Some(name)) => Patchset::from_slice(text, &origin)?.patch(name),
            (_, None) => {
                let names = Patchset::from_slice(text, &origin)?;
                let names = names.names();
                Err(WorkspaceError::Patch {
                    message: "The file is a patchset, and none of its patches was chosen.".to_owned(),
                    remedy: format!(
                        "Write {}:NAME. {}",
                        self.file.display(),
                        list("Its patches are", &names)
                    ),
                    origin,
                })
            }
        }
    }
}
