//! What can be wrong with the text of an expression.

use thiserror::Error;

/// A mistake in an expression, with its place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("at character {character}: {mistake}")]
pub struct ExpressionError {
    /// Position of the mistake in characters, counted from 1.
    pub character: usize,
    /// What is wrong.
    pub mistake: Mistake,
}

/// What is wrong at one place of an expression.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Mistake {
    /// The text is longer than expressions may be.
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
    /// A character that no expression has.
    #[error("'{}' has no meaning in an expression", found.escape_debug())]
    Character {
        /// The character.
        found: char,
    },
    /// A number that is not finite.
    #[error("the number is too large")]
    Number,
    /// Something else than what has to follow here.
    #[error("{expected} is expected, not '{found}'")]
    Unexpected {
        /// What has to follow.
        expected: &'static str,
        /// The text found.
        found: String,
    },
    /// The text ends too early.
    #[error("the expression ends where {expected} is expected")]
    Ends {
        /// What has to follow.
        expected: &'static str,
    },
    /// A function that is not known.
    #[error("there is no function '{name}'")]
    UnknownFunction {
        /// Its name.
        name: String,
    },
    /// A function with a wrong number of arguments.
    #[error("the function '{name}' takes {expected}, not {found}")]
    Arguments {
        /// Name of the function.
        name: String,
        /// How many it takes, in words.
        expected: &'static str,
        /// How many were given.
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
    /// Makes the error for a place given in bytes.
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
