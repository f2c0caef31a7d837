//! Errors in the text of an expression.

use thiserror::Error;

/// An error in the text of an expression, and the position of the error.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("at character {character}: {mistake}")]
pub struct ExpressionError {
    /// Position of the error in characters. The first character has the position 1.
    pub character: usize,
    /// Kind of the error.
    pub mistake: Mistake,
}

/// Kind of an error in the text of an expression.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Mistake {
    /// The text is too long.
    #[error("the expression has {length} bytes, and at most {limit} are read")]
    TooLong {
        /// Length of the text in bytes.
        length: usize,
        /// Largest allowed length in bytes.
        limit: usize,
    },
    /// Brackets, functions or signs are nested in too many levels.
    #[error("the expression is nested more than {limit} levels deep")]
    TooDeep {
        /// Largest allowed number of levels.
        limit: usize,
    },
    /// A character has no meaning in expressions.
    #[error("'{}' has no meaning in an expression", found.escape_debug())]
    Character {
        /// The character that was found.
        found: char,
    },
    /// A variable is named by its position, and no list has this position.
    #[error("there is no variable {position}, because the list of variables has {known}")]
    Position {
        /// The position in the text, from 0.
        position: usize,
        /// Number of variables in the list.
        known: usize,
    },
    /// A number is too large to be finite.
    #[error("the number is too large")]
    Number,
    /// The text contains something that is not allowed at this position.
    #[error("{expected} is expected, not '{found}'")]
    Unexpected {
        /// Description of what is allowed.
        expected: &'static str,
        /// The text that was found.
        found: String,
    },
    /// The text ends before the expression is complete.
    #[error("the expression ends where {expected} is expected")]
    Ends {
        /// Description of what is missing.
        expected: &'static str,
    },
    /// A function does not exist.
    #[error("there is no function '{name}'")]
    UnknownFunction {
        /// Name of the function.
        name: String,
    },
    /// The number of arguments of a function is wrong.
    #[error("the function '{name}' takes {expected}, not {found}")]
    Arguments {
        /// Name of the function.
        name: String,
        /// Allowed number of arguments, in words.
        expected: &'static str,
        /// Number of arguments in the text.
        found: usize,
    },
    /// A function is used without its arguments.
    #[error("the function '{name}' has no arguments")]
    WithoutArguments {
        /// Name of the function.
        name: String,
    },
}

impl ExpressionError {
    /// Creates the error for a position in bytes. `text` is the text of the expression.
    pub(super) fn at(text: &str, byte: usize, mistake: Mistake) -> Self {
        let character = text.get(..byte).map_or(0, |before| before.chars().count()) + 1;
        Self { character, mistake }
    }

    /// Returns a sentence that tells the user what to do.
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
            Mistake::Position { .. } => {
                "Write the name of the variable, or list the names of @0, @1, ... as 'arguments' of the object.".to_owned()
            }
            Mistake::Number => "Write a number below 1.8e308.".to_owned(),
            Mistake::Unexpected { .. } | Mistake::Ends { .. } => {
                "Correct the expression; look for a missing operator, operand or bracket.".to_owned()
            }
            Mistake::UnknownFunction { .. } => {
                format!("The functions are {}.", super::Function::names())
            }
            Mistake::Arguments { .. } => {
                "Write the arguments in brackets behind the name, with commas between them.".to_owned()
            }
            Mistake::WithoutArguments { .. } => {
                "Write the arguments in brackets behind the name; an observable or a parameter needs another name than a function."
                    .to_owned()
            }
        }
    }
}
