//! Splits the text of an expression into tokens.

use std::ops::Range;

use logos::Logos;

use super::error::{ExpressionError, Mistake};

/// A token of an expression. There may be white space between tokens.
#[derive(Logos, Debug, Clone, Copy, PartialEq)]
#[logos(skip r"[ \t\r\n]+")]
pub(super) enum Token<'a> {
    #[regex(r"([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", |lexer| lexer.slice().parse().ok())]
    Number(f64),
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)*")]
    Name(&'a str),
    /// A variable by its position in a list: `@0`, or `x[0]` as in ROOT.
    #[regex(r"@[0-9]+", |lexer| position(lexer.slice()))]
    #[regex(r"x[ ]*\[[ ]*[0-9]+[ ]*\]", |lexer| position(lexer.slice()))]
    Position(usize),
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Times,
    #[token("/")]
    Over,
    #[token("^")]
    #[token("**")]
    Power,
    #[token("(")]
    Open,
    #[token(")")]
    Close,
    #[token(",")]
    Comma,
    #[token("?")]
    Question,
    #[token(":")]
    Colon,
    #[token("!")]
    Not,
    #[token("&&")]
    And,
    #[token("||")]
    Or,
    #[token("==")]
    AlmostEqual,
    #[token("===")]
    Equal,
    #[token("!=")]
    NotAlmostEqual,
    #[token("!==")]
    NotEqual,
    #[token("<")]
    Less,
    #[token("<=")]
    LessOrEqual,
    #[token(">")]
    Greater,
    #[token(">=")]
    GreaterOrEqual,
}

/// Returns the number in `@0` or `x[0]`.
fn position(text: &str) -> Option<usize> {
    text.trim_start_matches(['@', 'x', ' ', '[']).trim_end_matches([' ', ']']).parse().ok()
}

/// Splits a text into tokens. Returns each token with its range of bytes.
///
/// # Errors
/// [`Mistake::Character`] if a character belongs to no token; [`Mistake::Number`] if a number is not finite.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token<'_>, Range<usize>)>, ExpressionError> {
    let mut tokens = Vec::new();
    for (token, place) in Token::lexer(text).spanned() {
        match token {
            Ok(Token::Number(x)) if !x.is_finite() => {
                return Err(ExpressionError::at(text, place.start, Mistake::Number));
            }
            Ok(token) => tokens.push((token, place)),
            Err(()) => {
                let found = text.get(place.start..).and_then(|rest| rest.chars().next()).unwrap_or(' ');
                return Err(ExpressionError::at(text, place.start, Mistake::Character { found }));
            }
        }
    }
    Ok(tokens)
}
