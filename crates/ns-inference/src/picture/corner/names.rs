//! Which parameters a corner plot has.

use thiserror::Error;
use wildmatch::WildMatch;

/// Largest number of parameters that are drawn.
pub(super) const MOST: usize = 20;

/// Why a corner plot cannot be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CornerError {
    /// A name is not sampled.
    #[error("'{name}' is not sampled; there are {known}")]
    Unknown {
        /// The name.
        name: String,
        /// Names of sampled parameters.
        known: String,
    },
    /// A pattern matches no sampled parameter.
    #[error("no sampled parameter matches '{0}'")]
    NoMatch(String),
    /// A name is given twice.
    #[error("'{0}' is named twice; name each parameter once")]
    Twice(String),
    /// Too many parameters are named.
    #[error("{0} parameters do not fit into one picture; name at most {MOST}")]
    TooMany(usize),
}

/// Returns the parameters that names and patterns mean, for a corner plot. In a pattern `*` stands for any characters and `?` for
/// one, and `all` means all parameters. `sampled` are the names of the sampled parameters. This needs no draws, so that names can
/// be checked before the sampling.
///
/// # Errors
/// [`CornerError`]
pub fn corner_names(names: &[String], sampled: &[&str]) -> Result<Vec<String>, CornerError> {
    let mut found: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if !found.iter().any(|other| other == name) {
            found.push(name.to_owned());
        }
    };
    for name in names {
        if sampled.contains(&name.as_str()) {
            if names.iter().filter(|other| *other == name).count() > 1 {
                return Err(CornerError::Twice(name.clone()));
            }
            add(name);
        } else if name == "all" || name.contains(['*', '?']) {
            let pattern = WildMatch::new(if name == "all" { "*" } else { name.as_str() });
            let mut matching = sampled.iter().filter(|known| pattern.matches(known)).peekable();
            if matching.peek().is_none() {
                return Err(CornerError::NoMatch(name.clone()));
            }
            matching.for_each(|known| add(known));
        } else {
            let known = crate::diagnosis::list(sampled.iter().copied());
            return Err(CornerError::Unknown { name: name.clone(), known });
        }
    }
    if found.len() > MOST { Err(CornerError::TooMany(found.len())) } else { Ok(found) }
}
