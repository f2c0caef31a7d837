//! The checks of a self-test, and the result of the self-test.

use ns_inference::report::{Part, Table};
use serde::Serialize;

use crate::Target;

/// The ways in which a check of the self-test can end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The value is within its bound.
    Passed,
    /// The value is beyond its bound, or the computation failed.
    Failed,
    /// Something that the check needs does not exist, although the user asked for it. The field `remedy` of the check
    /// says what to do.
    Missing,
    /// The check was not made, because something that it needs does not exist. The user did not ask for this check.
    Skipped,
    /// A value was measured for which there is no bound.
    Measured,
}

impl Status {
    /// Returns the word for this status in results.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "FAILED",
            Self::Missing => "MISSING",
            Self::Skipped => "skipped",
            Self::Measured => "measured",
        }
    }
}

/// One check of a self-test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// Name of the quantity or function that is checked.
    pub name: String,
    /// The way in which the check ended.
    pub status: Status,
    /// The computed value, usually a difference; `None` if nothing was computed or the value is not finite.
    pub value: Option<f64>,
    /// Largest `value` with which the check passes; `None` if there is no bound.
    pub bound: Option<f64>,
    /// Description of `value`, or the reason why there is no value.
    pub detail: String,
    /// What the user can do; `None` if nothing has to be done.
    pub remedy: Option<String>,
}

/// The result of a self-test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SelfTest {
    /// Name of the target that was tested.
    pub target: String,
    /// True if no check failed and no part that the user asked for is missing.
    pub passed: bool,
    /// Number of checks with the status [`Status::Failed`].
    pub n_failed: usize,
    /// Number of checks with the status [`Status::Missing`].
    pub n_missing: usize,
    /// All checks, in the order in which they were made.
    pub checks: Vec<Check>,
    /// Warnings of the result. The list exists in all results of the program; here it is always empty.
    pub warnings: Vec<String>,
}

impl SelfTest {
    /// Returns the parts of the printed result: the table of all checks, and the remedies.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let mut table = Table::new(&["check", "result", "value", "bound", "what"], &[2, 3]);
        let number = |x: Option<f64>| x.map_or_else(|| "-".to_owned(), |x| format!("{x:.1e}"));
        for check in &self.checks {
            let (value, bound) = (number(check.value), number(check.bound));
            let cells =
                [check.name.clone(), check.status.word().to_owned(), value, bound, check.detail.clone()];
            table.row(cells);
        }
        let mut text = String::new();
        for check in &self.checks {
            if let Some(remedy) = &check.remedy {
                text.push_str(&format!("\n{}: {remedy}", check.name));
            }
        }
        let end = match (self.n_failed, self.n_missing) {
            (0, 0) => format!("{}: every check passed", self.target),
            (0, n) => format!("{}: {n} missing", self.target),
            (n, 0) => format!("{}: {n} FAILED", self.target),
            (n, m) => format!("{}: {n} FAILED, {m} missing", self.target),
        };
        vec![Part::Table(table), Part::Text(format!("{text}\n{end}").trim_start_matches('\n').to_owned())]
    }
}

/// The checks that have been made so far.
#[derive(Debug, Default)]
pub(crate) struct Checks(Vec<Check>);

impl Checks {
    fn add(
        &mut self,
        (name, status): (&str, Status),
        value: Option<f64>,
        bound: Option<f64>,
        detail: &str,
        remedy: Option<String>,
    ) {
        let (name, value) = (name.to_owned(), value.filter(|x| x.is_finite()));
        self.0.push(Check { name, status, value, bound, detail: detail.to_owned(), remedy });
    }

    /// Adds a check that passes if `value` is at most `bound`.
    pub(crate) fn compare(&mut self, name: &str, value: f64, bound: f64, detail: &str) {
        let passed = value <= bound;
        let remedy = (!passed).then(|| {
            "Report it with the output of `nextstat selftest --format json` and `nextstat devices`."
                .to_owned()
        });
        let status = if passed { Status::Passed } else { Status::Failed };
        self.add((name, status), Some(value), Some(bound), detail, remedy);
    }

    /// Adds a value for which there is no bound.
    #[cfg(feature = "neural")]
    pub(crate) fn measured(&mut self, name: &str, value: f64, detail: &str) {
        self.add((name, Status::Measured), Some(value), None, detail, None);
    }

    /// Adds a check whose computation failed.
    pub(crate) fn failed(&mut self, name: &str, why: &str) {
        let remedy = "Report it with the output of `nextstat devices`.".to_owned();
        self.add((name, Status::Failed), None, None, why, Some(remedy));
    }

    /// Adds a check that could not run, because something that the user asked for, such as a GPU, is not there.
    pub(crate) fn missing(&mut self, name: &str, why: &str, remedy: &str) {
        self.add((name, Status::Missing), None, None, why, Some(remedy.to_owned()));
    }

    /// Adds a check that could not run, because something that the user did not ask for, such as a GPU, is not there.
    pub(crate) fn skipped(&mut self, name: &str, why: &str) {
        self.add((name, Status::Skipped), None, None, why, None);
    }

    /// Returns the result.
    pub(crate) fn finish(self, target: Target) -> SelfTest {
        let count = |status| self.0.iter().filter(|check| check.status == status).count();
        let (n_failed, n_missing) = (count(Status::Failed), count(Status::Missing));
        SelfTest {
            target: target.to_string(),
            passed: n_failed + n_missing == 0,
            n_failed,
            n_missing,
            checks: self.0,
            warnings: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_not_a_number_fails() {
        let mut checks = Checks::default();
        checks.compare("a", f64::NAN, 1.0, "");
        checks.compare("b", f64::INFINITY, 1.0, "");
        checks.compare("c", 1.0, 1.0, "");
        checks.missing("d", "not there", "Get it.");
        checks.skipped("e", "not there");
        let result = checks.finish(Target::Cpu);
        assert_eq!((result.passed, result.n_failed, result.n_missing), (false, 2, 1));
        assert_eq!(result.checks[0].value, None);
        assert_eq!(result.checks[2].status, Status::Passed);
        let text = format!("{:?}", result.parts());
        assert!(text.contains("cpu: 2 FAILED, 1 missing") && text.contains("d: Get it."), "{text}");
    }
}
