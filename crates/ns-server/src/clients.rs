//! The clients that send requests. With tokens, a client is the owner of a token. Without tokens, all users
//! of this machine are clients.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use axum::http::{HeaderMap, header};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::problem::ServerError;

/// A client of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Client {
    /// Name of the client.
    pub(crate) name: Arc<str>,
    /// Largest number of simultaneous requests of this client; `None` for the server's default.
    pub(crate) quota: Option<usize>,
}

/// The clients that a server accepts.
pub(crate) enum Clients {
    /// Owners of tokens, by the hash of their token. The server compares hashes and not tokens, so that the time of a
    /// comparison reveals nothing about a token.
    Tokens(HashMap<[u8; 32], Client>),
    /// Everyone who can connect to the server.
    Anyone,
}

/// Reasons why a file of tokens cannot be used.
#[derive(Debug, Error)]
pub(crate) enum TokenError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// Path of the file.
        path: String,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A line is wrong.
    #[error("{path}, line {line}: {reason}")]
    Line {
        /// Path of the file.
        path: String,
        /// Number of the line, counted from 1.
        line: usize,
        /// What is wrong.
        reason: &'static str,
    },
    /// The file has no token.
    #[error("{path} has no token; write a line NAME TOKEN")]
    Empty {
        /// Path of the file.
        path: String,
    },
}

/// Length of the shortest allowed token. A random token of 16 characters cannot be guessed over a network.
const SHORTEST: usize = 16;

impl Clients {
    /// Reads a file of tokens.
    ///
    /// # Errors
    /// If the file cannot be read, a line is wrong, or there is no token.
    pub(crate) fn from_file(path: &Path) -> Result<Self, TokenError> {
        let shown = || path.display().to_string();
        let text =
            std::fs::read_to_string(path).map_err(|source| TokenError::Read { path: shown(), source })?;
        Self::parse(&text, &shown())
    }

    fn parse(text: &str, path: &str) -> Result<Self, TokenError> {
        let mut tokens = HashMap::new();
        for (i, line) in text.lines().enumerate() {
            let wrong = |reason| TokenError::Line { path: path.to_owned(), line: i + 1, reason };
            let words: Vec<&str> = line.split_whitespace().collect();
            let (name, token, quota) = match words.as_slice() {
                [] => continue,
                [first, ..] if first.starts_with('#') => continue,
                [name, token] => (*name, *token, None),
                [name, token, quota] => {
                    let quota = quota.parse().map_err(|_| wrong("the quota is no whole number"))?;
                    (*name, *token, Some(quota))
                }
                _ => return Err(wrong("expected NAME TOKEN or NAME TOKEN QUOTA")),
            };
            if token.len() < SHORTEST {
                return Err(wrong("the token has fewer than 16 characters"));
            }
            let client = Client { name: name.into(), quota };
            if tokens.insert(hash(token), client).is_some() {
                return Err(wrong("the token is there twice"));
            }
        }
        if tokens.is_empty() {
            return Err(TokenError::Empty { path: path.to_owned() });
        }
        Ok(Self::Tokens(tokens))
    }

    /// Returns the client that sent a request, from the headers and the address of the request.
    ///
    /// # Errors
    /// [`ServerError::Unauthorised`] without a valid token.
    pub(crate) fn of(&self, headers: &HeaderMap, peer: IpAddr) -> Result<Client, ServerError> {
        let tokens = match self {
            Self::Anyone => return Ok(Client { name: peer.to_string().into(), quota: None }),
            Self::Tokens(tokens) => tokens,
        };
        let header = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = header.and_then(|value| value.trim().split_once(' '));
        let token = token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token);
        token.and_then(|token| tokens.get(&hash(token.trim()))).cloned().ok_or(ServerError::Unauthorised)
    }

    /// Returns whether every request is accepted without a token.
    pub(crate) fn are_anyone(&self) -> bool {
        matches!(self, Self::Anyone)
    }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn with(token: &str) -> HeaderMap {
        let value = format!("Bearer {token}").parse();
        value.into_iter().map(|value| (header::AUTHORIZATION, value)).collect()
    }

    #[test]
    fn a_token_names_its_client() -> Result<(), TokenError> {
        let text = "# the group\nana  0123456789abcdef\n\nbo 0123456789abcdeg 3\n";
        let clients = Clients::parse(text, "tokens")?;
        let of = |token| clients.of(&with(token), PEER).ok();
        assert_eq!(of("0123456789abcdef"), Some(Client { name: "ana".into(), quota: None }));
        assert_eq!(of("0123456789abcdeg"), Some(Client { name: "bo".into(), quota: Some(3) }));
        assert_eq!(of("0123456789abcdeh"), None);
        assert!(clients.of(&HeaderMap::new(), PEER).is_err());
        // The name of the scheme is not case-sensitive (RFC 9110).
        let lower = "bearer  0123456789abcdef".parse();
        let lower: HeaderMap = lower.into_iter().map(|value| (header::AUTHORIZATION, value)).collect();
        assert_eq!(clients.of(&lower, PEER).ok().map(|client| client.name), Some("ana".into()));
        Ok(())
    }

    #[test]
    fn wrong_files_are_refused() {
        let message = |text| Clients::parse(text, "tokens").err().map(|error| error.to_string());
        assert_eq!(message("# none\n").as_deref(), Some("tokens has no token; write a line NAME TOKEN"));
        assert!(message("ana short").is_some_and(|text| text.starts_with("tokens, line 1: ")));
        assert!(
            message("\nana 0123456789abcdef many").is_some_and(|text| text.contains("line 2: the quota"))
        );
    }
}
