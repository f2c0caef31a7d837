//! Errors in the text of an expression.

use thiserror::Error;

/// An error in an expression, with its position.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("at character {character}: {mistake}")]
pub struct ExpressionError {
    /// Position of the error in characters, counted from 1.
    pub character: usize,
    /// What is wrong.
    pub mistake: Mistake,
}

/// Kind of an error in an expression.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Mistake {
    /// The text is too long.
    #[error("the expression has {length} bytes, and at most {limit} are read")]
    TooLong {
        /// Length of the text in bytes.
        length: usize,
        /// Largest length.
        limit: usize,
    },
    /// Brackets, functions or signs are nested too deeply.
    #[error("the expression is nested more than {limit} levels deep")]
    TooDeep {
        /// Largest number of levels.
        limit: usize,
    },
    /// A character that is not used in expressions.
    #[error("'{}' has no meaning in an expression", found.escape_debug())]
    Character {
        /// The character.
        found: char,
    },
    /// A number that is not finite.
    #[error("the number is too large")]
    Number,
    /// The text has something other than what is expected at this place.
    #[error("{expected} is expected, not '{found}'")]
    Unexpected {
        /// What is expected.
        expected: &'static str,
        /// The text found.
        found: String,
    },
    /// The text ends too early.
    #[error("the expression ends where {expected} is expected")]
    Ends {
        /// What is expected.
        expected: &'static str,
    },
    /// A function that does not exist.
    #[error("there is no function '{name}'")]
    UnknownFunction {
        /// Name of the function.
        name: String,
    },
    /// A function with a wrong number of arguments.
    #[error("the function '{name}' takes {expected}, not {found}")]
    Arguments {
        /// Name of the function.
        name: String,
        /// Expected number of arguments, in words.
        expected: &'static str,
        /// Number of arguments given.
        found: usize,
    },
    /// A function without its arguments.
    #[error("the function '{name}' has no arguments")]
    WithoutArguments {
        /// Name of the function.
        name: String,
    },
}

impl ExpressionError {
    /// Makes the error for a position given in bytes.
    pub(super) fn at(text: &str, byte: usize, mistake: Mistake) -> Self {
        let character = text.get(..byte).map_or(0, |before| before.chars().count()) + 1;
        Self { character, mistake }
    }

    /// Returns what the user can do, as a sentence.
    #[must_use]
    pub fn remedy(&self) -> String {
        match &self.mistake {
            Mistake::TooLong { .. } | Mistake::TooDeep { .. } => {
                "Divide it into several functions that use each other.".to_owned()
            }
            Mistake::Character { found: '@' | '[' | ']' } => {
                "Write the names of the variables, not their positions.".to_owned()
            }
            Mistake::Character { found: '=' } => "Compare with '==' or '==='.".to_owned(),
            Mistake::Character { found: '&' | '|' } => "Write '&&' for and, '||' for or.".to_owned(),
            Mistake::Character { .. } => {
                "Use numbers, names, brackets, + - * / ^, comparisons, ! && || and ? :.".to_owned()
            }
            Mistake::Number => "Write a number below 1.8e308.".to_owned(),
            Mistake::Unexpected { .. } | Mistake::Ends { .. } => {
                "Correct the expression; look for a missing operator, operand or bracket.".to_owned()
            }
            Mistake::UnknownFunction { .. } => {
                format!("The functions are {}.", super::Function::names())
            }
            Mistake::Arguments { .. } | Mistake::WithoutArguments { .. } => {
                "Write the arguments in brackets behind the name, with commas between them.".to_owned()
            }
        }
    }
}
