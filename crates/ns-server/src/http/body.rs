//! Reads the bodies of requests, within limits of length and time.

use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, header};
use futures_util::StreamExt;
use serde::de::DeserializeOwned;

use crate::body::Received;
use crate::memory::{Reserved, of_json, of_thread};
use crate::models::{LOOK_AGAIN, PATIENCE};
use crate::problem::ServerError;
use crate::server::Server;

/// Longest allowed time between the start of a request and the end of its body.
const ARRIVAL: Duration = Duration::from_secs(30);

/// Longest body, in bytes, that is parsed by the thread that received it. A longer body is parsed in a separate
/// thread.
const SHORT: usize = 1 << 16;

/// Receives a body. Memory is reserved for each part that arrives.
///
/// # Errors
/// If the body is too long, or does not arrive in time, or the server has no memory for it.
pub(super) async fn receive(
    server: &Server,
    headers: &HeaderMap,
    body: Body,
) -> Result<Received, ServerError> {
    let limit = server.max_body;
    let too_long =
        |actual| ServerError::TooLarge { what: "the length of the body", actual, limit: limit as u64 };
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if let Some(length) = length.filter(|length: &u64| *length > limit as u64) {
        return Err(too_long(length));
    }
    let arrive = async {
        let mut reserved = server.jobs.models().memory().record(0);
        let (mut bytes, mut parts) = (Vec::new(), body.into_data_stream());
        while let Some(part) = parts.next().await {
            let part = part.map_err(|error| ServerError::Incomplete { reason: error.to_string() })?;
            if bytes.len() + part.len() > limit {
                return Err(too_long(length.unwrap_or(limit as u64 + 1)));
            }
            bytes.extend_from_slice(&part);
            let capacity = bytes.capacity() as u64;
            if capacity > reserved.bytes() {
                drop(room(server, capacity - reserved.bytes()).await?);
                reserved.settle(capacity);
            }
        }
        Ok(Received { bytes: Bytes::from(bytes), reserved })
    };
    let late = || ServerError::Incomplete { reason: "it took longer than 30 s".to_owned() };
    tokio::time::timeout(ARRIVAL, arrive).await.unwrap_or_else(|_| Err(late()))
}

/// Reserves memory. Waits for some time if less is free.
///
/// # Errors
/// If there is too little memory.
async fn room(server: &Server, bytes: u64) -> Result<Reserved, ServerError> {
    let models = server.jobs.models();
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(reserved) = models.try_room(bytes) {
            return Ok(reserved);
        }
        if bytes > models.memory().limit() || Instant::now() >= deadline {
            return Err(models.no_room(bytes));
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Reads a body as JSON. The reservation then covers the body and what was read from it.
///
/// # Errors
/// If the body is not JSON, or does not have the fields of the request, or the server has no memory for it.
pub(super) async fn parse<T: DeserializeOwned + Send + 'static>(
    server: &Server,
    received: &mut Received,
) -> Result<T, ServerError> {
    let estimate = of_json(&received.bytes);
    let reading = room(server, estimate).await?;
    let bytes = received.bytes.clone();
    let read = move || {
        let before = of_thread();
        let read = crate::body::read(&bytes);
        let net = of_thread().zip(before).and_then(|(now, before)| u64::try_from(now - before).ok());
        (read, net)
    };
    let (read, net) = if received.bytes.len() <= SHORT {
        read()
    } else {
        tokio::task::spawn_blocking(read).await.map_err(|_| ServerError::Panicked)?
    };
    received.reserved.settle(received.reserved.bytes() + net.unwrap_or(estimate));
    drop(reading);
    read
}
