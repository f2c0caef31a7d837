//! Returns information about the server: devices, health, metrics and the description of its paths.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use ns_inference::devices as all_devices;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::allocator::allocated;
use crate::metrics::Levels;
use crate::problem::ServerError;
use crate::results::{self, Devices};
use crate::server::Server;

/// The health of the server.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Health {
    /// Always `ok`. A server that does not work does not respond.
    status: &'static str,
    /// Version of the server.
    version: &'static str,
}

/// Lists the devices on which fits can run, and for other devices the reason why they cannot be used.
///
/// # Errors
/// If the search for devices panics.
pub(super) async fn devices() -> Result<Json<Devices>, ServerError> {
    // Looking for GPUs may start a driver.
    let devices = tokio::task::spawn_blocking(all_devices).await.map_err(|_| ServerError::Panicked)?;
    Ok(Json(Devices { devices }))
}

/// Responds that the server is running.
pub(super) async fn health() -> Json<Health> {
    Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION") })
}

/// Returns the metrics.
///
/// # Errors
/// If a metric cannot be formatted.
pub(super) async fn metrics(State(server): State<Arc<Server>>) -> Result<Response, ServerError> {
    let models = server.jobs.models();
    let levels = Levels {
        active: server.jobs.active(),
        waiting: models.devices().cpu().waiting(),
        models: models.size(),
        reserved: models.memory().used(),
        allocated: allocated(),
    };
    let text = server.metrics.text(&levels).map_err(|_| ServerError::Panicked)?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

/// Returns the OpenAPI description of all paths.
///
/// # Errors
/// If the description cannot be written as JSON.
pub(super) async fn openapi() -> Result<Json<Value>, ServerError> {
    let mut document = serde_json::to_value(super::openapi::document())?;
    if let Some(Value::Object(schemas)) = document.pointer_mut("/components/schemas") {
        schemas.extend(results::schemas()?);
    }
    Ok(Json(document))
}

/// Returns the JSON schemas of all results in one document.
///
/// # Errors
/// If the document cannot be written as JSON.
pub(super) async fn result_schemas() -> Result<Json<Value>, ServerError> {
    Ok(Json(results::document()?))
}
