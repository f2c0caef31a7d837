//! Serves the web pages of the server. Their files are embedded in the program.

use axum::extract::Path;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};

use crate::problem::ServerError;

/// Returns the page that runs analyses.
pub(super) async fn index() -> Html<&'static str> {
    Html(include_str!("../../page/index.html"))
}

/// Returns the page that lists all paths and can send requests to them.
pub(super) async fn api() -> Html<&'static str> {
    Html(include_str!("../../page/api.html"))
}

/// Returns a script, a style sheet or the example of the pages.
///
/// # Errors
/// If there is no such file.
pub(super) async fn file(Path(name): Path<String>) -> Result<Response, ServerError> {
    let (kind, text) = match name.as_str() {
        "page.js" => ("text/javascript; charset=utf-8", include_str!("../../page/page.js")),
        "reading.js" => ("text/javascript; charset=utf-8", include_str!("../../page/reading.js")),
        "results.js" => ("text/javascript; charset=utf-8", include_str!("../../page/results.js")),
        "example.json" => ("application/json", include_str!("../../page/example.json")),
        "api.js" => ("text/javascript; charset=utf-8", include_str!("../../page/api.js")),
        "page.css" => ("text/css; charset=utf-8", include_str!("../../page/page.css")),
        _ => return Err(ServerError::NotFound { what: "file", name, remedy: "see the page at /" }),
    };
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
