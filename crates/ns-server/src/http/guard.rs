//! Checks the client, the host and the content type of every request. Counts and logs every request.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::problem::ServerError;
use crate::server::Server;

/// Network address of the client of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// Determines the client of a request. Refuses requests that a web page of another site may have sent. Counts
/// and logs the request.
pub(super) async fn guard(State(server): State<Arc<Server>>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = request.method().clone();
    let matched = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let route = matched.unwrap_or_else(|| "none".to_owned());
    let mut name = None;
    let mut response = match admit(&server, &request, &route) {
        Ok(client) => {
            name = client.as_ref().map(|client| Arc::clone(&client.name));
            if let Some(client) = client {
                request.extensions_mut().insert(client);
            }
            next.run(request).await
        }
        Err(error) => error.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    let (status, time) = (response.status().as_u16(), started.elapsed());
    server.metrics.count(&route, status, time);
    let (client, ms) = (name.as_deref().unwrap_or("none"), time.as_secs_f64() * 1e3);
    tracing::info!(%method, route, status, ms, client, "request");
    response
}

/// Content security policy of the server's web pages. It allows only files of this server.
const POLICY: &str =
    "default-src 'self'; img-src 'self' data: blob:; frame-ancestors 'none'; base-uri 'none'";

/// Returns whether requests for a path need no token. Such paths reveal nothing about models or jobs.
fn is_open(route: &str) -> bool {
    matches!(route, "/" | "/api" | "/page/{file}" | "/openapi.json" | "/v1/health")
}

fn admit(
    server: &Server,
    request: &Request,
    route: &str,
) -> Result<Option<crate::clients::Client>, ServerError> {
    // A page of another site can send requests to this machine, but their `Host` header has another name.
    // Such a page can send JSON only if the server allows it, and this server never does.
    if server.clients.are_anyone() && !is_local(request.headers()) {
        return Err(ServerError::ForeignHost);
    }
    if request.method() == Method::POST {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let kind = kind.and_then(|kind| kind.split(';').next());
        let json = kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"));
        if !json {
            return Err(ServerError::MediaType {
                reason: "send the header `Content-Type: application/json`",
            });
        }
        if request.headers().contains_key(header::CONTENT_ENCODING) {
            return Err(ServerError::MediaType { reason: "send the body uncompressed" });
        }
    }
    if is_open(route) {
        return Ok(None);
    }
    let peer = request.extensions().get::<Peer>().ok_or(ServerError::Unauthorised)?;
    server.clients.of(request.headers(), peer.0.ip()).map(Some)
}

/// Returns whether the header `Host` of the request names this machine.
fn is_local(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return false };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(""),
        None => host.split(':').next().unwrap_or(""),
    };
    let address = name.parse::<std::net::IpAddr>();
    name == "localhost" || address.is_ok_and(|address| address.is_loopback())
}
