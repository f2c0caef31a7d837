//! Tests of requests for pictures in place of JSON.

use serde_json::json;

use super::http::post;
use super::process::Server;
use super::{body, fixture};

#[test]
fn analyses_draw_their_results() {
    let server = Server::start(&[]);
    let simple = fixture("all_modifiers.json");
    for name in ["fit", "scan", "ranking", "upper-limit", "yields"] {
        for (format, kind, begin) in [
            ("svg", "image/svg+xml", &b"<"[..]),
            ("png", "image/png", &b"\x89PNG"[..]),
            ("pdf", "application/pdf", &b"%PDF"[..]),
        ] {
            let answer =
                post(server.address, &format!("/v1/{name}?plot={format}"), &body(&simple, json!({})));
            assert_eq!(answer.status, 200, "{name}: {}", answer.text());
            assert_eq!(answer.header("content-type"), Some(kind), "{name}");
            assert!(answer.body.starts_with(begin), "{name} as {format}");
        }
    }
    let pictures = ["pulls", "correlation", "prefit", "postfit"].map(|picture| {
        post(server.address, "/v1/fit?plot=svg", &body(&simple, json!({"picture": picture}))).text()
    });
    for (i, picture) in pictures.iter().enumerate() {
        assert!(picture.contains("<svg") && !pictures[..i].contains(picture));
    }
}
