//! Answers requests for analyses: with the result, or with the name of a job if the analysis takes long.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::body::{parse, receive};
use crate::analyses::Analysis;
use crate::clients::Client;
use crate::jobs::{Ended, Job, Order};
use crate::picture;
use crate::problem::ServerError;
use crate::server::Server;

/// Query parameters of a request for an analysis (after `?` in the address).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    /// Format of the picture that is returned instead of the JSON result: `svg`, `png` or `pdf`.
    plot: Option<String>,
}

/// A guard that cancels the job of a request when it is dropped. This happens if the client disconnects before it
/// has received the answer or the name of the job.
struct Waiting(Option<Arc<Job>>);

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(job) = &self.0 {
            job.account.cancel();
        }
    }
}

/// Answers a request for an analysis. The answer is the result, or the name of a job if the analysis takes
/// longer than the time to wait.
///
/// # Errors
/// If the request is wrong or refused.
pub(super) async fn answer<A: Analysis>(
    State(server): State<Arc<Server>>,
    Extension(client): Extension<Client>,
    asked: Result<Query<Asked>, QueryRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ServerError> {
    let wrong = |reason: String| ServerError::Body { pointer: String::new(), reason };
    let Query(asked) = asked.map_err(|error| wrong(error.body_text()))?;
    let format = |name: String| {
        picture::format(&name).ok_or_else(|| wrong(format!("unknown plot '{name}'; use svg, png or pdf")))
    };
    let picture = asked.plot.map(format).transpose()?;
    let received = receive(&server, &headers, body).await?;
    let (body, received): (A, _) = parse(&server, received).await?;
    let wait = body.wait_s().map_or(server.wait, Duration::from_secs_f64);
    let order = Order { analysis: A::NAME, client: client.name, picture };
    let job = server.jobs.begin(body, order, received, client.quota)?;
    let mut waiting = Waiting(Some(Arc::clone(&job)));
    if let Ok(ended) = tokio::time::timeout(wait, job.wait()).await {
        waiting.0 = None;
        return Ok(response(ended));
    }
    server.jobs.name(&job)?;
    waiting.0 = None;
    match job.ended() {
        Some(ended) => Ok(response(ended)),
        None => Ok(accepted(&job)),
    }
}

/// Returns the response to a request whose analysis ended.
pub(super) fn response(ended: Ended) -> Response {
    match ended {
        Ended::Answer(output) => {
            let kind = HeaderValue::from_static(output.media);
            ([(header::CONTENT_TYPE, kind)], output.bytes).into_response()
        }
        Ended::Problem(problem) => problem.into_response(),
    }
}

/// Returns the response to a request that became a job: status 202 with the job's path.
pub(super) fn accepted(job: &Job) -> Response {
    let place = format!("/v1/jobs/{}", job.id);
    (StatusCode::ACCEPTED, [(header::LOCATION, place)], axum::Json(job.status())).into_response()
}
