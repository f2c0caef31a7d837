//! Answers requests about jobs: state, result, progress and cancellation.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use futures_util::Stream;
use futures_util::stream::unfold;
use serde::Deserialize;

use super::analysis::{accepted, response};
use crate::clients::Client;
use crate::jobs::{Ended, Job, JobStatus};
use crate::problem::ServerError;
use crate::server::Server;

/// Shortest time between two progress events that are sent to a client.
const BETWEEN: Duration = Duration::from_millis(100);

/// Lists the jobs of the client.
///
/// # Errors
/// If the records of ended jobs cannot be read.
pub(super) async fn list(
    State(server): State<Arc<Server>>,
    Extension(client): Extension<Client>,
) -> Result<Json<Vec<JobStatus>>, ServerError> {
    server.jobs.list(&client.name).map(Json)
}

/// Returns the state of a job.
///
/// # Errors
/// If the client has no such job.
pub(super) async fn status(
    State(server): State<Arc<Server>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
) -> Result<Json<JobStatus>, ServerError> {
    Ok(Json(server.jobs.find(&id, &client.name)?.status()))
}

/// Cancels a job and waits until it has stopped. The result of the job then covers only the finished part of the
/// analysis.
///
/// # Errors
/// If the client has no such job.
pub(super) async fn cancel(
    State(server): State<Arc<Server>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
) -> Result<Response, ServerError> {
    let job = server.jobs.find(&id, &client.name)?;
    job.account.cancel();
    match tokio::time::timeout(server.wait, job.wait()).await {
        Ok(_) => Ok(Json(job.status()).into_response()),
        Err(_) => Ok(accepted(&job)),
    }
}

/// Query parameters of a request for a result.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AskedResult {
    /// Whether to return the result of the finished toys while the job is still running.
    #[serde(default)]
    partial: bool,
}

/// Returns the result of a job that has ended. For a running job, returns the state of the job with status 202. If
/// the client asks for a partial result, returns the result of the toys saved so far instead.
///
/// # Errors
/// If the client has no such job, or there is no partial result.
pub(super) async fn result(
    State(server): State<Arc<Server>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
    asked: Result<Query<AskedResult>, QueryRejection>,
) -> Result<Response, ServerError> {
    let wrong =
        |error: QueryRejection| ServerError::Body { pointer: String::new(), reason: error.body_text() };
    let Query(asked) = asked.map_err(wrong)?;
    let job = server.jobs.find(&id, &client.name)?;
    match job.ended() {
        Some(ended) => Ok(response(ended)),
        None if asked.partial => {
            let (jobs, own) = (Arc::clone(&server.jobs), Arc::clone(&job));
            let read = tokio::task::spawn_blocking(move || jobs.partial(&own)).await;
            Ok(response(Ended::Answer(read.map_err(|_| ServerError::Panicked)??)))
        }
        None => Ok(accepted(&job)),
    }
}

/// Sends the progress of a job as server-sent events with the name `progress`. The last event has the name `end` and
/// contains the final state of the job.
///
/// # Errors
/// If the client has no such job.
pub(super) async fn events(
    State(server): State<Arc<Server>>,
    Extension(client): Extension<Client>,
    Path(id): Path<String>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ServerError> {
    let job = server.jobs.find(&id, &client.name)?;
    Ok(Sse::new(stream(job)).keep_alive(KeepAlive::default()))
}

/// The last event that has been sent to a client that follows a job: none, an event `progress`, or the event `end`.
enum Sent {
    Nothing,
    Progress,
    End,
}

fn stream(job: Arc<Job>) -> impl Stream<Item = Result<Event, Infallible>> {
    let watch = job.watch();
    unfold((job, watch, Sent::Nothing), async |(job, mut watch, sent)| {
        match sent {
            Sent::End => return None,
            Sent::Nothing => {}
            Sent::Progress => {
                tokio::select! {
                    _ = watch.changed() => tokio::time::sleep(BETWEEN).await,
                    _ = job.wait() => {}
                }
            }
        }
        let ended = job.ended().is_some();
        let event = if ended {
            Event::default().event("end").json_data(job.status())
        } else {
            Event::default().event("progress").json_data(*watch.borrow_and_update())
        };
        let next = if ended { Sent::End } else { Sent::Progress };
        Some((Ok(event.ok()?), (job, watch, next)))
    })
}
