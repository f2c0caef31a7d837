//! Answers `POST /v1/models`. The server stores the model for later requests.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::{parse, receive};
use crate::body::ModelBody;
use crate::problem::ServerError;
use crate::server::Server;

/// Body of the request: the model to store.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ModelRequest {
    /// The model, given by its workspace.
    model: ModelBody,
}

/// A stored model. Later requests name the model by both digests.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ModelAnswer {
    /// Digest of the model.
    model_digest: String,
    /// Digest of the observed data.
    data_digest: String,
    /// Name of the measurement.
    measurement: String,
    /// Names of all measurements of the workspace.
    measurements: Vec<String>,
    /// Name of the first parameter of interest, if there is one.
    poi: Option<String>,
    /// Names of all parameters of interest.
    pois: Vec<String>,
    /// Number of parameters.
    n_parameters: usize,
    /// Number of bins.
    n_bins: usize,
    /// Warnings about the model.
    warnings: Vec<String>,
}

/// Compiles a model, stores it, and returns its digests.
///
/// # Errors If the workspace is wrong or the model is too large.
pub(super) async fn add(
    State(server): State<Arc<Server>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<ModelAnswer>, ServerError> {
    let received = receive(&server, &headers, body).await?;
    let (request, received): (ModelRequest, _) = parse(&server, received).await?;
    let made = tokio::task::spawn_blocking(move || {
        // The reservation is declared first, so that it is given back after the request is dropped.
        let (_held, request) = (received, request);
        let compiled = server.jobs.models().get(&request.model)?;
        let model = &compiled.model;
        Ok(ModelAnswer {
            model_digest: compiled.digest.clone(),
            data_digest: compiled.data_digest.clone(),
            measurement: model.measurement.clone(),
            measurements: compiled.workspace.measurement_names(),
            poi: model.poi_names().next().map(str::to_owned),
            pois: model.poi_names().map(str::to_owned).collect(),
            n_parameters: model.parameters.len(),
            n_bins: model.n_bins(),
            warnings: model.warnings.clone(),
        })
    });
    made.await.unwrap_or(Err(ServerError::Panicked)).map(Json)
}
