//! Problems of a workspace, each with its place and a remedy.

use std::fmt;

use ns_core::plain;

/// Severity of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// An error. No model can be built until it is corrected.
    Error,
    /// A warning. A model can be built, but the user should check that it is the intended one.
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

/// An error in a file, or a doubtful place about which the user is warned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Whether the problem is an error or a warning.
    pub severity: Severity,
    /// JSON pointer (RFC 6901) to the place of the problem; empty for the whole document. In a patch or
    /// patchset, the name of the file and `#` precede the pointer.
    pub path: String,
    /// What is wrong, in whole sentences.
    pub message: String,
    /// What the user can do, in whole sentences.
    pub remedy: String,
}

impl Problem {
    /// Returns place, message and remedy of the problem in one line, without its severity.
    #[must_use]
    pub fn paragraph(&self) -> String {
        let place = if self.path.is_empty() { "top level" } else { &self.path };
        // Text that is quoted from the file could look like the line of another problem, so line breaks are
        // removed.
        format!("{}: {} {}", plain(place), plain(&self.message), plain(&self.remedy))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.severity, self.paragraph())
    }
}

/// All problems that were found in one document.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The problems that are kept, in the order of the document as far as possible.
    pub problems: Vec<Problem>,
    /// Number of further errors, which were not kept because of [`Report::LIMIT`].
    pub omitted: usize,
}

impl Report {
    /// Largest number of problems that are kept. Without this limit, a broken file could fill the memory.
    pub const LIMIT: usize = 1000;

    /// Returns whether there are no errors. There may be warnings.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.omitted == 0 && self.problems.iter().all(|p| p.severity == Severity::Warning)
    }

    /// Returns the problems of severity [`Severity::Error`].
    pub fn errors(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter().filter(|p| p.severity == Severity::Error)
    }

    /// Returns the problems of severity [`Severity::Warning`].
    pub fn warnings(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter().filter(|p| p.severity == Severity::Warning)
    }

    /// Returns whether there is at least one error.
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

    /// Puts the name of a file before each path, followed by `#` unless the path is empty. This is for a report about
    /// a file other than the workspace.
    pub(crate) fn of_file(mut self, name: &str) -> Self {
        for problem in &mut self.problems {
            problem.path =
                if problem.path.is_empty() { name.to_owned() } else { format!("{name}#{}", problem.path) };
        }
        self
    }

    /// Adds the problems of another report.
    pub(crate) fn extend(&mut self, other: Self) {
        for problem in other.problems {
            self.push(problem);
        }
        self.omitted += other.omitted;
    }

    /// Adds a problem. Once the limit is reached, a new warning is dropped, and a new error replaces the last
    /// warning. If no warning is left, a new error is only counted in `omitted`.
    fn push(&mut self, problem: Problem) {
        if self.problems.len() < Self::LIMIT {
            self.problems.push(problem);
            return;
        }
        if problem.severity == Severity::Error {
            // Warnings must not keep an error out of the report.
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
