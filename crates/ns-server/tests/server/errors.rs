//! Checks that mistakes in requests are answered with problem details and a JSON pointer into the body.

use serde_json::{Value, json};

use super::http::{Response, get, post, send};
use super::process::Server;
use super::{body, fixture};

/// Checks that a response has problem details with the given status code and kind, and returns them.
pub(crate) fn problem(answer: &Response, status: u16, kind: &str) -> Value {
    assert_eq!(answer.status, status, "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    let problem = answer.json();
    assert_eq!((&problem["type"], &problem["status"]), (&json!(kind), &json!(status)), "{problem}");
    assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()));
    problem
}

#[test]
fn mistakes_in_bodies_are_named_with_their_place() {
    let server = Server::start(&[]);
    let simple = fixture("simple_workspace.json");
    let cases = [
        ("fit", body(&simple, json!({"optoins": {}})), "/optoins", "unknown field `optoins`"),
        ("fit", body(&simple, json!({"options": {"serach": "local"}})), "/options/serach", "unknown field"),
        (
            "fit",
            body(&simple, json!({"options": {"fixed": {"a/b": "x"}}})),
            "/options/fixed/a~1b",
            "invalid type",
        ),
        (
            "scan",
            body(&simple, json!({"options": {"first": {"points": -1}}})),
            "/options/first/points",
            "invalid",
        ),
        ("fit", body(&simple, json!({"device": "abacus"})), "/device", "unknown device 'abacus'"),
        ("fit", body(&simple, json!({"wait_s": -1})), "/wait_s", "-1 is no time"),
        ("hypotest", body(&simple, json!({})), "", "missing field `mu`"),
        ("fit", "{\"model\": {}}".to_owned(), "/model", "give either `workspace`"),
        (
            "fit",
            "{\"model\": {\"input\": \"/etc/passwd\"}}".to_owned(),
            "/model/input",
            "unknown field `input`",
        ),
        ("combine", format!("{{\"workspaces\": [{simple}]}}"), "/workspaces", "give two workspaces"),
    ];
    for (name, body, pointer, reason) in cases {
        let answer = post(server.address, &format!("/v1/{name}"), &body);
        let problem = problem(&answer, 422, "body");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem}");
        let detail = problem["errors"][0]["detail"].as_str().unwrap();
        assert!(detail.contains(reason) && !detail.contains(" at line "), "{detail}");
    }
    problem(&post(server.address, "/v1/fit", "{\"model\": "), 400, "not-json");
    problem(&post(server.address, "/v1/fit", "{} x"), 422, "body");
}

#[test]
fn problems_of_a_workspace_have_pointers_into_the_body() {
    let server = Server::start(&[]);
    let mut workspace: Value = serde_json::from_str(&fixture("simple_workspace.json")).unwrap();
    workspace["channels"][0]["samples"][0]["data"] = json!(["five"]);
    let answer = post(server.address, "/v1/fit", &body(&workspace.to_string(), json!({})));
    let problem = problem(&answer, 422, "workspace");
    let first = &problem["errors"][0];
    let pointer = first["pointer"].as_str().unwrap();
    assert!(pointer.starts_with("/model/workspace/channels/0/samples/0/data"), "{problem}");
    assert!(first["remedy"].as_str().is_some_and(|remedy| !remedy.is_empty()), "{problem}");
}

#[test]
fn impossible_analyses_say_what_to_do() {
    let server = Server::start(&[]);
    let simple = fixture("simple_workspace.json");
    let options = json!({"options": {"fixed": {"nu": 1.0}}});
    let answer = post(server.address, "/v1/fit", &body(&simple, options));
    let detail = problem(&answer, 422, "analysis")["detail"].as_str().unwrap().to_owned();
    assert!(
        detail.starts_with("the model has no parameter 'nu'") && detail.contains("/v1/inspect"),
        "{detail}"
    );
    let answer = post(server.address, "/v1/fit", &body(&simple, json!({"device": "cuda:7"})));
    problem(&answer, 503, "device");
    let answer = post(server.address, "/v1/fit?plot=gif", &body(&simple, json!({})));
    problem(&answer, 422, "body");
    let answer = post(server.address, "/v1/gof?plot=svg", &body(&simple, json!({})));
    problem(&answer, 422, "no-picture");
}

#[test]
fn unknown_paths_and_methods_have_problem_details() {
    let server = Server::start(&[]);
    for path in ["/v1/nothing", "/../../etc/passwd", "/page/..%2f..%2fCargo.toml", "/page/index.html"] {
        problem(&get(server.address, path), 404, "not-found");
    }
    let wrong = get(server.address, "/v1/fit");
    problem(&wrong, 405, "method");
    assert_eq!(wrong.header("allow"), Some("POST"));
    let wrong = post(server.address, "/v1/jobs", "{}");
    problem(&wrong, 405, "method");
    assert!(wrong.header("allow").is_some_and(|allowed| allowed.contains("GET")), "{}", wrong.head);
    problem(&get(server.address, "/v1/jobs/../../x"), 404, "not-found");
}

#[test]
fn web_pages_of_other_sites_are_refused() {
    let server = Server::start(&[]);
    let simple = body(&fixture("simple_workspace.json"), json!({}));
    let kind = "content-type: text/plain\r\n";
    problem(&send(server.address, "POST", "/v1/fit", kind, &simple), 415, "media-type");
    let encoded = "content-type: application/json\r\ncontent-encoding: gzip\r\n";
    problem(&send(server.address, "POST", "/v1/fit", encoded, &simple), 415, "media-type");
    let answer = super::http::read({
        use std::io::Write;
        let mut stream = std::net::TcpStream::connect(server.address).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n").unwrap();
        stream
    });
    problem(&answer, 403, "foreign-host");
    let answer = get(server.address, "/v1/health");
    assert_eq!(answer.header("access-control-allow-origin"), None);
}

#[test]
fn options_are_an_object_and_not_a_list() {
    let server = Server::start(&[]);
    let simple = fixture("simple_workspace.json");
    for path in ["/v1/fit", "/v1/scan", "/v1/upper-limit", "/v1/hypotest-toys"] {
        let answer = post(server.address, path, &body(&simple, json!({"mu": 1.0, "options": []})));
        let problem = problem(&answer, 422, "body");
        // Some of these analyses have no `mu`. Its place is then the first mistake.
        if problem["errors"][0]["pointer"] != "/mu" {
            assert_eq!(problem["errors"][0]["pointer"], "/options");
            assert!(problem["detail"].as_str().unwrap().contains("expected an object"), "{problem}");
        }
    }
    let answer = post(server.address, "/v1/fit", &body(&simple, json!({"options": []})));
    assert_eq!(problem(&answer, 422, "body")["errors"][0]["pointer"], "/options");
}

#[test]
fn nested_options_are_objects_and_not_lists() {
    let server = Server::start(&[]);
    let simple = fixture("simple_workspace.json");
    let cases = [
        ("upper-limit", json!({"options": {"fit": []}}), "/options/fit"),
        ("hypotest", json!({"mu": 1.0, "options": {"fit": [{"poi": 1.0}]}}), "/options/fit"),
        ("scan", json!({"options": {"first": []}}), "/options/first"),
        ("scan", json!({"options": {"second": ["mu"]}}), "/options/second"),
        ("fit-batch", json!({"datasets": [[[1.0], null]]}), "/datasets/0"),
    ];
    for (name, further, pointer) in cases {
        let answer = post(server.address, &format!("/v1/{name}"), &body(&simple, further));
        let problem = problem(&answer, 422, "body");
        assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem}");
        let detail = problem["errors"][0]["detail"].as_str().unwrap();
        assert!(detail.contains("sequence, expected an object"), "{detail}");
    }
    let answer = post(server.address, "/v1/fit", r#"{"model": []}"#);
    assert_eq!(problem(&answer, 422, "body")["errors"][0]["pointer"], "/model");
}

#[test]
fn an_integral_tolerance_above_one_is_refused() {
    let server = Server::start(&[]);
    let simple = fixture("simple_workspace.json");
    for (name, further) in [
        ("fit", json!({"options": {"integral_tolerance": 2}})),
        ("upper-limit", json!({"options": {"fit": {"integral_tolerance": 2}}})),
        ("hypotest-toys", json!({"mu": 1.0, "options": {"fit": {"integral_tolerance": 2}, "n_toys": 5}})),
    ] {
        let answer = post(server.address, &format!("/v1/{name}"), &body(&simple, further));
        let detail = problem(&answer, 422, "analysis")["detail"].to_string();
        assert!(detail.contains("is 2; give a number between 0 and 1"), "{name}: {detail}");
    }
}

#[test]
fn long_numbers_are_written_short() {
    let server = Server::start(&[]);
    let far = body(&fixture("simple_workspace.json"), json!({"wait_s": 1e300}));
    let detail = problem(&post(server.address, "/v1/fit", &far), 422, "body")["detail"].to_string();
    assert!(detail.contains("1e300 is no time"), "{detail}");
    let far = body(&fixture("simple_workspace.json"), json!({"options": {"fixed": {"mu": 1e300}}}));
    let detail = problem(&post(server.address, "/v1/fit", &far), 422, "analysis")["detail"].to_string();
    assert!(detail.contains("'mu' is 1e300, outside its bounds"), "{detail}");
}
