//! Reads the bodies of requests, within limits of length and time.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, header};
use futures_util::StreamExt;
use serde::de::DeserializeOwned;

use crate::allocator::of_thread;
use crate::body::Received;
use crate::memory::of_json;
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
    let models = server.jobs.models();
    let arrive = async {
        let mut reserved = models.memory().record(0);
        let (mut bytes, mut parts) = (Vec::new(), body.into_data_stream());
        while let Some(part) = parts.next().await {
            let part = part.map_err(|error| ServerError::Incomplete { reason: error.to_string() })?;
            let needed = bytes.len() + part.len();
            if needed > limit {
                return Err(too_long(length.unwrap_or(limit as u64 + 1)));
            }
            if needed > bytes.capacity() {
                // A list grows by a copy, so both lists are there until the end of the copy.
                let most = length.and_then(|length| usize::try_from(length).ok()).unwrap_or(limit);
                let capacity = needed.max((2 * bytes.capacity()).min(most));
                let larger = models.room_later(capacity as u64).await?;
                let old = std::mem::replace(&mut bytes, Vec::with_capacity(capacity));
                bytes.extend_from_slice(&old);
                drop(old);
                reserved = larger;
            }
            bytes.extend_from_slice(&part);
        }
        Ok(Received { bytes: Bytes::from(bytes), reserved })
    };
    let late = || ServerError::Incomplete { reason: "it took longer than 30 s".to_owned() };
    tokio::time::timeout(ARRIVAL, arrive).await.unwrap_or_else(|_| Err(late()))
}

/// Reads a body as JSON. Returns what was read, and the body. The reservation of the body then covers both.
///
/// # Errors
/// If the body is not JSON, or does not have the fields of the request, or the server has no memory for it.
pub(super) async fn parse<T: DeserializeOwned + Send + 'static>(
    server: &Server,
    mut received: Received,
) -> Result<(T, Received), ServerError> {
    let estimate = of_json(&received.bytes);
    let of_body = received.reserved.bytes();
    received.reserved.join(server.jobs.models().room_later(estimate).await?);
    let is_short = received.bytes.len() <= SHORT;
    // The reservation moves into the thread that reads. If the client leaves, the thread goes on, and so does its
    // reservation.
    let read = move || {
        let before = of_thread();
        let read = crate::body::read(&received.bytes)?;
        let net = u64::try_from(of_thread() - before);
        received.reserved.settle(of_body + net.unwrap_or(estimate));
        Ok((read, received))
    };
    if is_short {
        return read();
    }
    tokio::task::spawn_blocking(read).await.map_err(|_| ServerError::Panicked)?
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use futures_util::FutureExt;
    use ns_core::{Device, Execution};

    use super::*;
    use crate::clients::Clients;
    use crate::devices::Devices;
    use crate::jobs::{JobLimits, Jobs};
    use crate::memory::Memory;
    use crate::metrics::Metrics;
    use crate::models::Models;

    /// Returns a server whose requests may reserve `memory` bytes.
    fn server(memory: u64) -> Result<Server, Box<dyn Error>> {
        let execution = Execution { threads: 1, device: Device::Cpu, ..Execution::default() };
        let models = Models::new(Arc::new(Devices::start(execution)?), 100, Memory::new(memory));
        let limits = JobLimits { active: 10, per_client: 10, time: Duration::from_secs(60) };
        let jobs = Arc::new(Jobs::open(Arc::new(models), limits, None)?);
        let (clients, metrics) = (Clients::Anyone, Metrics::default());
        Ok(Server { jobs, clients, metrics, max_body: 1 << 20, wait: Duration::from_secs(1) })
    }

    #[test]
    fn a_body_that_is_read_stays_counted_after_its_client_has_left() -> Result<(), Box<dyn Error>> {
        let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build()?;
        let server = server(1 << 30)?;
        let memory = Arc::clone(server.jobs.models().memory());
        let (go_on, stopped) = channel::<()>();
        let text = Bytes::from(format!("[{}]", vec!["0"; SHORT].join(",")));
        let estimate = of_json(&text);
        runtime.block_on(async {
            // The only thread for long work is busy, so the body waits for it.
            tokio::task::spawn_blocking(move || stopped.recv());
            let received = Received { bytes: text, reserved: memory.record(0) };
            // The client leaves: the future is dropped.
            let read = parse::<serde_json::Value>(&server, received).now_or_never();
            assert!(read.is_none());
        });
        assert_eq!(memory.used(), estimate);
        go_on.send(())?;
        drop(runtime);
        assert_eq!(memory.used(), 0);
        Ok(())
    }

    #[test]
    fn a_body_is_reserved_before_it_grows_and_while_it_is_copied() -> Result<(), Box<dyn Error>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let send = |server: &Server, parts: &'static [&'static [u8]]| {
            let parts = futures_util::stream::iter(parts.iter().map(|part| Ok::<_, std::io::Error>(*part)));
            let received = runtime.block_on(receive(server, &HeaderMap::new(), Body::from_stream(parts)));
            received.map(|received| (received.bytes.len(), received.reserved.bytes()))
        };
        let parts: &[&[u8]] = &[&[b' '; 100], &[b' '; 100], &[b' '; 100]];
        // The last part needs a list of 400 bytes beside the one of 200 bytes.
        assert_eq!(send(&server(600)?, parts).ok(), Some((300, 400)));
        assert!(matches!(send(&server(399)?, parts), Err(ServerError::TooLarge { .. })));
        Ok(())
    }
}
