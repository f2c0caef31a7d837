//! The errors of the server, and their form in responses: problem details (RFC 9457) with a JSON pointer to every
//! mistake in the body of the request.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use ns_core::SessionError;
use ns_inference::InferenceError;
use ns_inference::toys::store::{SavedRunError, StoreError};
use ns_translate::pyhf::WorkspaceError;
use ns_viz::PictureError;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use utoipa::ToSchema;

/// Reasons why a request fails.
#[derive(Debug, Error)]
pub(crate) enum ServerError {
    /// The body is not JSON.
    #[error("the body is not JSON: {reason}")]
    Syntax {
        /// Message of the JSON parser.
        reason: String,
    },
    /// The body is JSON, but does not have the form that this request needs.
    #[error("{reason}")]
    Body {
        /// JSON pointer to the mistake; empty for the whole body.
        pointer: String,
        /// What is wrong.
        reason: String,
    },
    /// A workspace or patch in the body is wrong.
    #[error("{source}")]
    Workspace {
        /// JSON pointer to the workspace or patch in the body.
        pointer: String,
        /// The error, with paths within the workspace.
        source: WorkspaceError,
    },
    /// The analysis is not possible with the given options, or failed.
    #[error(transparent)]
    Inference(#[from] InferenceError),
    /// The device is not available or failed.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The toys of a job cannot be saved or read.
    #[error(transparent)]
    Toys(#[from] StoreError),
    /// A file or folder on the disk of the server cannot be used.
    #[error("the server cannot write to its disk; try again later")]
    Disk {
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The server does not have the partial result that the client asked for.
    #[error("{reason}")]
    NoPartialResult {
        /// The reason, and what to do.
        reason: &'static str,
    },
    /// The record of a job cannot be written or read.
    #[error("the records of jobs cannot be used: {0}")]
    Records(#[from] rusqlite::Error),
    /// The result cannot be drawn.
    #[error("cannot draw the result: {0}")]
    Picture(#[from] PictureError),
    /// The analysis has no picture.
    #[error("this analysis has no picture; leave `plot` out")]
    NoPicture,
    /// The result cannot be written as JSON.
    #[error("cannot write the result as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A quantity in the request is larger than the server allows.
    #[error("{what} is {actual}, more than the {limit} that this server allows")]
    TooLarge {
        /// Name of the quantity.
        what: &'static str,
        /// Value of the quantity.
        actual: u64,
        /// Largest value allowed.
        limit: u64,
    },
    /// The body did not arrive in time, or was incomplete.
    #[error("the body did not arrive: {reason}")]
    Incomplete {
        /// Description of what happened.
        reason: String,
    },
    /// The object that the request names does not exist.
    #[error("there is no {what} {name}; {remedy}")]
    NotFound {
        /// Kind of the object that was looked for, for example "job".
        what: &'static str,
        /// Name by which the object was looked for.
        name: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The path exists, but not for the method of the request.
    #[error("this path does not take the method {method}; the header Allow lists the methods that it takes")]
    WrongMethod {
        /// Method of the request.
        method: String,
    },
    /// The header `Host` does not name this machine. Web pages of other sites send such requests.
    #[error("without a token file, requests must name this machine as their host, such as localhost")]
    ForeignHost,
    /// The body has a content type or an encoding that the server does not support.
    #[error("{reason}")]
    MediaType {
        /// What the client should send instead.
        reason: &'static str,
    },
    /// The request has no valid token.
    #[error("send the header `Authorization: Bearer TOKEN` with a token of this server")]
    Unauthorised,
    /// The client has too many requests in progress.
    #[error("{client} has {limit} requests and jobs in progress, the most allowed; wait until one ends")]
    Quota {
        /// Name of the client.
        client: String,
        /// Number of requests allowed at a time.
        limit: usize,
    },
    /// The server has reached its limit of requests in progress, or is stopping.
    #[error("the server {why}; try again later")]
    Busy {
        /// Reason why the server accepts no request.
        why: &'static str,
    },
    /// The analysis took longer than allowed.
    #[error("the analysis was stopped after {seconds} s, the most that this server allows")]
    Timeout {
        /// Longest time that is allowed, in seconds.
        seconds: u64,
    },
    /// The server panicked during the request.
    #[error("the server failed at this request, which is a bug; please report it")]
    Panicked,
}

impl From<SavedRunError> for ServerError {
    fn from(error: SavedRunError) -> Self {
        match error {
            SavedRunError::Store(error) => error.into(),
            SavedRunError::Inference(error) => error.into(),
        }
    }
}

/// Problem details, as in RFC 9457.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Problem {
    /// Kind of the problem: a fixed identifier for programs.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// Title of the kind of problem, for people.
    pub(crate) title: String,
    /// Status code of the response.
    pub(crate) status: u16,
    /// What is wrong and what to do.
    pub(crate) detail: String,
    /// The mistakes in the body.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) errors: Vec<Place>,
}

/// A mistake in the body of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Place {
    /// JSON pointer (RFC 6901) to the mistake in the body.
    pub(crate) pointer: String,
    /// What is wrong.
    pub(crate) detail: String,
    /// What the client can do; absent if `detail` already says it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) remedy: String,
}

impl Problem {
    /// Returns the memory of the problem, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let place = |place: &Place| {
            size_of::<Place>() + place.pointer.len() + place.detail.len() + place.remedy.len()
        };
        let own = size_of::<Self>() + self.kind.len() + self.title.len() + self.detail.len();
        (own + self.errors.iter().map(place).sum::<usize>()) as u64
    }
}

impl ServerError {
    /// Returns the status code, the kind and the title of the problem.
    fn kind(&self) -> (StatusCode, &'static str, &'static str) {
        use StatusCode as S;
        match self {
            Self::Syntax { .. } => (S::BAD_REQUEST, "not-json", "The body is not JSON"),
            Self::Incomplete { .. } => (S::REQUEST_TIMEOUT, "incomplete", "The body did not arrive"),
            Self::Body { .. } => (S::UNPROCESSABLE_ENTITY, "body", "The request is wrong"),
            Self::Workspace { .. } => (S::UNPROCESSABLE_ENTITY, "workspace", "The workspace is wrong"),
            Self::NoPicture => (S::UNPROCESSABLE_ENTITY, "no-picture", "There is no picture"),
            Self::Picture(_) => (S::UNPROCESSABLE_ENTITY, "picture", "The result cannot be drawn"),
            Self::Session(error) | Self::Inference(InferenceError::Session(error)) => of_session(error),
            Self::Inference(InferenceError::Cancelled) => {
                (S::CONFLICT, "cancelled", "The request was cancelled")
            }
            Self::Inference(_) => (S::UNPROCESSABLE_ENTITY, "analysis", "The analysis is impossible"),
            Self::TooLarge { .. } => (S::PAYLOAD_TOO_LARGE, "too-large", "The request is too large"),
            Self::NotFound { .. } => (S::NOT_FOUND, "not-found", "Not found"),
            Self::WrongMethod { .. } => (S::METHOD_NOT_ALLOWED, "method", "The method is another one"),
            Self::ForeignHost => (S::FORBIDDEN, "foreign-host", "The host is another one"),
            Self::MediaType { .. } => (S::UNSUPPORTED_MEDIA_TYPE, "media-type", "The body is not read"),
            Self::Unauthorised => (S::UNAUTHORIZED, "unauthorised", "A token is needed"),
            Self::Quota { .. } => (S::TOO_MANY_REQUESTS, "quota", "Too many requests"),
            Self::Busy { .. } => (S::SERVICE_UNAVAILABLE, "busy", "The server is busy"),
            Self::Timeout { .. } => (S::SERVICE_UNAVAILABLE, "timeout", "The analysis took too long"),
            Self::NoPartialResult { .. } => (S::CONFLICT, "no-partial-result", "There is no partial result"),
            Self::Toys(_) | Self::Disk { .. } | Self::Records(_) | Self::Json(_) | Self::Panicked => {
                (S::INTERNAL_SERVER_ERROR, "internal", "The server failed")
            }
        }
    }

    /// Returns the problem details.
    pub(crate) fn problem(&self) -> Problem {
        let (status, kind, title) = self.kind();
        Problem {
            kind: kind.to_owned(),
            title: title.to_owned(),
            status: status.as_u16(),
            detail: self.detail(),
            errors: self.errors(),
        }
    }

    /// Returns the error with the place `below` before its JSON pointer.
    pub(crate) fn under(self, below: &str) -> Self {
        match self {
            Self::Body { pointer, reason } => Self::Body { pointer: format!("{below}{pointer}"), reason },
            Self::Workspace { pointer, source } => {
                Self::Workspace { pointer: format!("{below}{pointer}"), source }
            }
            other => other,
        }
    }

    /// Returns a description of the error without paths on the server's disk.
    fn detail(&self) -> String {
        match self {
            Self::Toys(_) => "the toys of this job cannot be saved or read".to_owned(),
            Self::Records(_) => "the records of jobs cannot be used".to_owned(),
            Self::Inference(error) if error.is_unknown_name() => {
                format!(
                    "{error}{}",
                    if error.to_string().ends_with('?') {
                        " /v1/inspect lists all"
                    } else {
                        "; /v1/inspect lists all"
                    }
                )
            }
            other => other.to_string(),
        }
    }

    fn errors(&self) -> Vec<Place> {
        match self {
            Self::Body { pointer, reason } => {
                vec![Place { pointer: pointer.clone(), detail: reason.clone(), remedy: String::new() }]
            }
            Self::Workspace { pointer, source } => {
                let place = |problem: &ns_translate::pyhf::Problem| {
                    let remedy = problem.remedy.clone();
                    if problem.path.is_empty() || problem.path.starts_with('/') {
                        let pointer = format!("{pointer}{}", problem.path);
                        return Place { pointer, detail: problem.message.clone(), remedy };
                    }
                    // A line of a file in an archive.
                    let detail = format!("{}: {}", problem.path, problem.message);
                    Place { pointer: pointer.clone(), detail, remedy }
                };
                let places: Vec<Place> = source.problems().iter().map(place).collect();
                if !places.is_empty() {
                    return places;
                }
                vec![Place { pointer: pointer.clone(), detail: source.to_string(), remedy: String::new() }]
            }
            _ => Vec::new(),
        }
    }
}

/// Returns the status code, the kind and the title of the problem for an error of a session. An impossible request
/// and a failed device have different codes.
fn of_session(error: &SessionError) -> (StatusCode, &'static str, &'static str) {
    match error {
        SessionError::MemoryLimit { .. } | SessionError::OutOfDeviceMemory { .. } => {
            (StatusCode::PAYLOAD_TOO_LARGE, "memory", "The request needs too much memory")
        }
        SessionError::DeviceUnavailable { .. }
        | SessionError::CudaDriverMissing
        | SessionError::NoSuchCudaDevice { .. }
        | SessionError::CudaDriverTooOld { .. }
        | SessionError::UnsupportedGpu { .. }
        | SessionError::UnsupportedPrecision { .. } => {
            (StatusCode::SERVICE_UNAVAILABLE, "device", "The device is not there")
        }
        SessionError::DeviceDisagrees { .. }
        | SessionError::DeviceLost { .. }
        | SessionError::DeviceRefused { .. }
        | SessionError::KernelImage { .. } => {
            (StatusCode::INTERNAL_SERVER_ERROR, "device", "The device failed")
        }
        _ => (StatusCode::UNPROCESSABLE_ENTITY, "analysis", "The analysis is impossible"),
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(self)).into_response();
        let kind = HeaderValue::from_static("application/problem+json");
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, kind);
        match status {
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        response
    }
}

impl IntoResponse for ServerError {
    fn into_response(self) -> Response {
        self.problem().into_response()
    }
}
