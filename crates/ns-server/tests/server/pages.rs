//! Tests of the web page, the OpenAPI description, and the information about the server.

use super::http::get;
use super::process::Server;

#[test]
fn the_page_and_its_files_come_from_the_server_alone() {
    let server = Server::start(&[]);
    for (path, kind) in [
        ("/", "text/html; charset=utf-8"),
        ("/api", "text/html; charset=utf-8"),
        ("/page/page.js", "text/javascript; charset=utf-8"),
        ("/page/reading.js", "text/javascript; charset=utf-8"),
        ("/page/results.js", "text/javascript; charset=utf-8"),
        ("/page/example.json", "application/json"),
        ("/page/api.js", "text/javascript; charset=utf-8"),
        ("/page/page.css", "text/css; charset=utf-8"),
    ] {
        let answer = get(server.address, path);
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(kind)), "{path}");
        let text = answer.text();
        let foreign = ["http://", "https://", "//cdn"]
            .iter()
            .any(|address| text.replace("http://www.w3.org/2000/svg", "").contains(address));
        assert!(!text.is_empty() && !foreign, "{path} names another server");
        assert!(answer.header("content-security-policy").is_some_and(|policy| policy.contains("'self'")));
    }
}

#[test]
fn the_description_has_every_path_and_every_schema_that_it_names() {
    let server = Server::start(&[]);
    let document = get(server.address, "/openapi.json").json();
    let paths = document["paths"].as_object().unwrap();
    for name in [
        "fit",
        "fit-batch",
        "scan",
        "ranking",
        "hypotest",
        "hypotest-toys",
        "toys",
        "merge-toys",
        "upper-limit",
        "significance",
        "gof",
        "interval",
        "region",
        "look-elsewhere",
        "sample",
        "injection",
        "compatibility",
        "spurious-signal",
        "unfold",
        "simplify",
        "yields",
        "inspect",
        "validate",
        "prune",
        "rename",
        "decorrelate",
        "combine",
        "blue",
        "models",
    ] {
        assert!(paths[&format!("/v1/{name}")]["post"].is_object(), "{name}");
    }
    let text = document.to_string();
    for part in text.split("\"$ref\":\"").skip(1) {
        let pointer = part.split('"').next().unwrap().trim_start_matches('#');
        assert!(document.pointer(pointer).is_some(), "{pointer}");
    }
}

#[test]
fn devices_health_and_metrics() {
    let server = Server::start(&[]);
    assert_eq!(get(server.address, "/v1/health").json()["status"], "ok");
    let devices = get(server.address, "/v1/devices").json();
    assert_eq!(devices["devices"][0]["name"], "cpu");
    let metrics = get(server.address, "/metrics");
    assert!(metrics.text().contains("nextstat_requests_total{route=\"/v1/devices\",status=\"200\"} 1"));
    assert!(metrics.text().ends_with("# EOF\n"));
}
