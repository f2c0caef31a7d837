//! Reads the bodies of requests, within limits of length and time.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, header};
use serde::de::DeserializeOwned;

use crate::problem::ServerError;
use crate::server::Server;

/// Longest allowed time between the start of a request and the end of its body.
const ARRIVAL: Duration = Duration::from_secs(30);

/// Longest body, in bytes, that is parsed by the thread that received it. A longer body is parsed in a separate
/// thread.
const SHORT: usize = 1 << 16;

/// Receives a body.
///
/// # Errors
/// If the body is too long, or does not arrive in time.
pub(super) async fn receive(server: &Server, headers: &HeaderMap, body: Body) -> Result<Bytes, ServerError> {
    let limit = server.max_body;
    let too_long =
        |actual| ServerError::TooLarge { what: "the length of the body", actual, limit: limit as u64 };
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if let Some(length) = length.filter(|length: &u64| *length > limit as u64) {
        return Err(too_long(length));
    }
    match tokio::time::timeout(ARRIVAL, to_bytes(body, limit)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        // The client did not announce the length, or the connection ended.
        Ok(Err(_)) if length.is_none() => Err(too_long(limit as u64 + 1)),
        Ok(Err(error)) => Err(ServerError::Incomplete { reason: error.to_string() }),
        Err(_) => Err(ServerError::Incomplete { reason: "it took longer than 30 s".to_owned() }),
    }
}

/// Reads a body as JSON.
///
/// # Errors
/// If the body is not JSON, or does not have the fields of the request.
pub(super) async fn parse<T: DeserializeOwned + Send + 'static>(bytes: &Bytes) -> Result<T, ServerError> {
    if bytes.len() <= SHORT {
        return crate::body::read(bytes);
    }
    let bytes = bytes.clone();
    let read = tokio::task::spawn_blocking(move || crate::body::read(&bytes));
    read.await.unwrap_or(Err(ServerError::Panicked))
}
