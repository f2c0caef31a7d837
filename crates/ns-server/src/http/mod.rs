//! The paths of the server and the functions that answer them.

mod analysis;
mod body;
mod guard;
mod info;
mod jobs;
mod models;
mod openapi;
mod page;
mod schema;

use std::sync::Arc;

use axum::Router;
use axum::http::{Method, Uri};
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};

pub(crate) use guard::Peer;

use crate::analyses::{Analysis, each_analysis};
use crate::problem::ServerError;
use crate::server::Server;

/// Returns the routes of the server, i.e. its paths with the functions that answer them.
pub(crate) fn routes(server: Arc<Server>) -> Router {
    let mut router = Router::new();
    macro_rules! add {
        ($($body:ty),*) => {
            $(router = router.route(&format!("/v1/{}", <$body>::NAME), post(analysis::answer::<$body>));)*
        };
    }
    each_analysis!(add);
    router
        .route("/v1/models", post(models::add))
        .route("/v1/jobs", get(jobs::list))
        .route("/v1/jobs/{id}", get(jobs::status).delete(jobs::cancel))
        .route("/v1/jobs/{id}/result", get(jobs::result))
        .route("/v1/jobs/{id}/events", get(jobs::events))
        .route("/v1/devices", get(info::devices))
        .route("/v1/health", get(info::health))
        .route("/metrics", get(info::metrics))
        .route("/openapi.json", get(info::openapi))
        .route("/results.schema.json", get(info::result_schemas))
        .route("/", get(page::index))
        .route("/api", get(page::api))
        .route("/page/{file}", get(page::file))
        .fallback(missing)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(Arc::clone(&server), guard::guard))
        .with_state(server)
}

/// Answers a request for a path that does not exist.
async fn missing(path: Uri) -> ServerError {
    let name: String = path.path().chars().take(200).collect();
    ServerError::NotFound { what: "path", name, remedy: "/openapi.json lists all" }
}

/// Answers a request for a path that has other methods. The router adds the header `Allow`, which lists them.
async fn wrong_method(method: Method) -> ServerError {
    ServerError::WrongMethod { method: method.to_string() }
}

/// Resumes the jobs that were unfinished when the server stopped.
pub(crate) fn go_on(server: &Server) {
    let records = match server.jobs.unfinished() {
        Ok(records) => records,
        Err(error) => return tracing::error!(%error, "the jobs of an earlier server cannot be read"),
    };
    for record in records {
        macro_rules! begin {
            ($($body:ty),*) => {
                match record.analysis.as_str() {
                    $(<$body>::NAME => crate::body::read::<$body>(&record.body)
                        .and_then(|body| server.jobs.go_on(body, &record)),)*
                    _ => Err(ServerError::NotFound {
                        what: "analysis",
                        name: record.analysis.clone(),
                        remedy: "this version of the server does not have it",
                    }),
                }
            };
        }
        match each_analysis!(begin) {
            Ok(()) => tracing::info!(job = record.id, "a job goes on"),
            Err(error) => server.jobs.give_up(&record, &error),
        }
    }
}
