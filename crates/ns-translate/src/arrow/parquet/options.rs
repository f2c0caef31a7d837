//! Options for reading a Parquet file: columns, conditions on rows, and number of threads.

use std::fmt;
use std::num::NonZeroUsize;

/// The ways in which a number is compared with a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
}

impl Comparison {
    /// All comparisons with their signs.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::Less, "<"),
        (Self::LessEqual, "<="),
        (Self::Greater, ">"),
        (Self::GreaterEqual, ">="),
        (Self::Equal, "=="),
        (Self::NotEqual, "!="),
    ];

    /// Returns the comparison with this sign.
    #[must_use]
    pub fn of(sign: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == sign).map(|(comparison, _)| *comparison)
    }

    /// Returns whether a number fulfils the comparison with `limit`. NaN fulfils only `!=`.
    #[must_use]
    #[inline]
    pub fn holds(self, x: f64, limit: f64) -> bool {
        match self {
            Self::Less => x < limit,
            Self::LessEqual => x <= limit,
            Self::Greater => x > limit,
            Self::GreaterEqual => x >= limit,
            Self::Equal => x == limit,
            Self::NotEqual => x != limit,
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = Self::ALL.iter().find(|(known, _)| known == self).map_or("", |(_, sign)| sign);
        f.write_str(sign)
    }
}

/// A condition on one column. A row without a value (null) in this column does not fulfil the condition.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// Name of the column.
    pub column: String,
    /// How the numbers of the column are compared with the limit.
    pub comparison: Comparison,
    /// Number with which the numbers of the column are compared.
    pub limit: f64,
}

/// The columns and rows of a file to read, and the number of threads.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ParquetOptions {
    /// Names of the columns, each of them once; `None` means all columns of the file.
    pub columns: Option<Vec<String>>,
    /// Conditions on rows. A row is read if it fulfils all conditions.
    pub selection: Vec<Condition>,
    /// Largest number of threads. `None` means all threads of the machine for a large number of values, and
    /// one thread for a small number.
    pub threads: Option<NonZeroUsize>,
}
