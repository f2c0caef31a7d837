//! Problems of a workspace, each with a path and a remedy.

use std::fmt;

use ns_core::plain;

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// No model can be made until this is corrected.
    Error,
    /// A model can be made; the user should check that it is the intended one.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

/// A problem: something that is wrong or doubtful.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// JSON pointer (RFC 6901) to the problem; empty for the whole document. For a patch or patchset it follows the name
    /// of the file and `#`.
    pub path: String,
    /// What is wrong, in whole sentences.
    pub message: String,
    /// What to do about it, in whole sentences.
    pub remedy: String,
}

impl Problem {
    /// Place, message and remedy without the severity.
    #[must_use]
    pub fn paragraph(&self) -> String {
        let place = if self.path.is_empty() { "top level" } else { &self.path };
        // What is quoted from the file must not look like another problem's line.
        format!("{}: {} {}", plain(place), plain(&self.message), plain(&self.remedy))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.severity, self.paragraph())
    }
}

/// Everything that was found in one document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The problems, in the order of the document as far as possible.
    pub problems: Vec<Problem>,
    /// Further problems that were counted but not kept, beyond [`Report::LIMIT`].
    pub omitted: usize,
}

impl Report {
    /// Most problems that are kept, so that a broken file cannot fill the memory.
    pub const LIMIT: usize = 1000;

    /// True if there are no errors (there may be warnings).
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.omitted == 0 && self.problems.iter().all(|p| p.severity == Severity::Warning)
    }

    /// The problems of severity [`Severity::Error`].
    pub fn errors(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter().filter(|p| p.severity == Severity::Error)
    }

    /// The problems of severity [`Severity::Warning`].
    pub fn warnings(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter().filter(|p| p.severity == Severity::Warning)
    }

    /// True as soon as one error was found.
    pub(crate) fn has_errors(&self) -> bool {
        !self.is_usable()
    }

    /// Adds an error.
    pub(crate) fn error(&mut self, path: String, message: impl Into<String>, remedy: impl Into<String>) {
        self.push(Problem {
            severity: Severity::Error,
            path,
            message: message.into(),
            remedy: remedy.into(),
        });
    }

    /// Adds a warning.
    pub(crate) fn warn(&mut self, path: String, message: impl Into<String>, remedy: impl Into<String>) {
        self.push(Problem {
            severity: Severity::Warning,
            path,
            message: message.into(),
            remedy: remedy.into(),
        });
    }

    /// The same report with the name of a file before each path, for another file than the workspace.
    pub(crate) fn of_file(mut self, name: &str) -> Self {
        for problem in &mut self.problems {
            problem.path =
                if problem.path.is_empty() { name.to_owned() } else { format!("{name}#{}", problem.path) };
        }
        self
    }

    /// Adds another report's problems.
    pub(crate) fn extend(&mut self, other: Self) {
        for problem in other.problems {
            self.push(problem);
        }
        self.omitted += other.omitted;
    }

    /// Adds a problem, up to the limit. Further warnings are dropped without being
    /// counted: `omitted` counts errors only.
    fn push(&mut self, problem: Problem) {
        if self.problems.len() < Self::LIMIT {
            self.problems.push(problem);
            return;
        }
        if problem.severity == Severity::Error {
            // An error must not be lost behind a thousand warnings.
            match self.problems.iter().rposition(|p| p.severity == Severity::Warning) {
                Some(last) => {
                    self.problems.remove(last);
                    self.problems.push(problem);
                }
                None => self.omitted += 1,
            }
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.errors().chain(self.warnings()).enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        if self.omitted > 0 {
            write!(f, "\nand {} more errors", self.omitted)?;
        }
        Ok(())
    }
}
