//! What is read from a file.

use std::fmt;
use std::num::NonZeroUsize;

/// How a number is compared with a limit.
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

    /// Returns whether a number passes. NaN passes `!=` alone.
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

/// A condition on one column. A row without a number in this column does not fulfil it.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// Name of the column.
    pub column: String,
    /// How its numbers are compared.
    pub comparison: Comparison,
    /// What they are compared with.
    pub limit: f64,
}

/// Which columns and rows of a file are read, and how.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ParquetOptions {
    /// Names of the columns, each once; `None`: all columns of the file.
    pub columns: Option<Vec<String>>,
    /// Conditions that a row has to fulfil, all of them.
    pub selection: Vec<Condition>,
    /// Largest number of threads; `None`: those of the machine, where there is enough to do for several.
    pub threads: Option<NonZeroUsize>,
}
