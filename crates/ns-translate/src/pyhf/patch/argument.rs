//! The command line's `--patch FILE[:NAME]`.

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

/// The name of standard input.
const STANDARD_INPUT: &str = "-";

/// A patch as a user names it: a JSON Patch file, or a patchset and one of its patches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchArgument {
    /// The file.
    pub file: PathBuf,
    /// Name or comma-separated values of a patch in a patchset.
    pub name: Option<String>,
}

impl FromStr for PatchArgument {
    type Err = Infallible;

    /// Paths and names may both contain colons. The file is the longest part before a colon that is an existing file
    /// (or `-`, standard input), or the whole text. If no such file exists, the text is split at its first colon, unless what
    /// follows looks like the rest of a path (`C:\patch.json`).
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

/// Whether something can be read there: a file, a pipe, or standard input.
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
    /// Whether the file is `-`. The caller then reads standard input and calls [`Self::parse`].
    #[must_use]
    pub fn is_standard_input(&self) -> bool {
        self.file.as_os_str() == STANDARD_INPUT
    }

    /// Reads the patch.
    ///
    /// # Errors
    /// If the file cannot be read or is neither a JSON Patch nor a patchset;
    /// [`WorkspaceError::NoSuchPatch`]; if a patchset is given without a name.
    pub fn load(&self) -> Result<Patch, WorkspaceError> {
        match (read_file(&self.file), &self.name) {
            (Err(WorkspaceError::Member { name: None, .. }), Some(name)) => self.load_member(name),
            (text, _) => self.parse(&text?),
        }
    }

    /// The same for an archive: `name` begins with the name of a member.
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

    /// The same for text that the caller has read.
    ///
    /// # Errors
    /// As [`PatchArgument::load`].
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
