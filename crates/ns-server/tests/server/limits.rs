//! Tests of tokens and quotas, and of the limits on the size of a request, the size of a model, the number of
//! requests and connections, and the time of an analysis.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use super::errors::problem;
use super::http::{get, post, post_open, read, send};
use super::process::Server;
use super::{body, fixture};

#[test]
fn what_is_too_large_is_refused() {
    let server = Server::start(&["--max-body", "100000", "--max-parameters", "2"]);
    let simple = body(&fixture("simple_workspace.json"), json!({}));
    let answer = post(server.address, "/v1/fit", &simple);
    let detail = problem(&answer, 413, "too-large")["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("the number of parameters") && detail.contains("more than the 2"), "{detail}");
    let points = json!({"options": {"first": {"points": u64::MAX}}});
    let other = Server::start(&[]);
    let answer = post(other.address, "/v1/scan", &body(&fixture("simple_workspace.json"), points));
    problem(&answer, 413, "too-large");
    let long = format!("{simple}{}", " ".repeat(100_000));
    problem(&post(server.address, "/v1/fit", &long), 413, "too-large");
    let chunked = "content-type: application/json\r\ntransfer-encoding: chunked\r\n";
    let mut stream = TcpStream::connect(server.address).unwrap();
    let head =
        format!("POST /v1/fit HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{chunked}\r\n", server.address);
    stream.write_all(head.as_bytes()).unwrap();
    for _ in 0..20 {
        // The server may close the connection as soon as the body is too long.
        if write!(stream, "{:x}\r\n{}\r\n", 10_000, " ".repeat(10_000)).is_err() {
            break;
        }
    }
    problem(&read(stream), 413, "too-large");
}

#[test]
fn deep_json_is_refused_and_the_server_lives() {
    let server = Server::start(&[]);
    for text in [
        "[".repeat(1_000_000),
        "{\"model\":".repeat(100_000),
        "{\"model\":{\"workspace\":".to_owned() + &"[".repeat(500_000),
    ] {
        let answer = post(server.address, "/v1/fit", &text);
        assert!((400..500).contains(&answer.status), "{}", answer.status);
    }
    let nested = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    let answer = post(server.address, "/v1/fit", &body(&nested, json!({})));
    assert!((400..500).contains(&answer.status), "{}", answer.text());
    assert_eq!(get(server.address, "/v1/health").status, 200);
}

#[test]
fn tokens_name_clients_who_do_not_see_each_other_and_have_quotas() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens");
    std::fs::write(&file, "ana ana-0123456789abcdef 1\nbo bo-0123456789abcdef\n").unwrap();
    let server = Server::start(&["--token-file", file.to_str().unwrap()]);
    let json = "content-type: application/json\r\n";
    let of = |token: &str| format!("{json}authorization: Bearer {token}-0123456789abcdef\r\n");
    let simple = body(&fixture("simple_workspace.json"), json!({}));
    let to = server.address;
    for header in [json.to_owned(), of("eve"), format!("{json}authorization: Basic YTpi\r\n")] {
        let answer = send(to, "POST", "/v1/fit", &header, &simple);
        problem(&answer, 401, "unauthorised");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
    assert_eq!(send(to, "POST", "/v1/fit", &of("ana"), &simple).status, 200);

    let toys = json!({"mu": 1.0, "wait_s": 0, "options": {"n_toys": 100_000_000}});
    let toys = body(&fixture("simple_workspace.json"), toys);
    let answer = send(to, "POST", "/v1/hypotest-toys", &of("ana"), &toys);
    assert_eq!(answer.status, 202, "{}", answer.text());
    let job = answer.header("location").unwrap().to_owned();
    let refused = send(to, "POST", "/v1/fit", &of("ana"), &simple);
    problem(&refused, 429, "quota");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(send(to, "POST", "/v1/fit", &of("bo"), &simple).status, 200);
    problem(&send(to, "GET", &job, &of("bo"), ""), 404, "not-found");
    problem(&send(to, "DELETE", &job, &of("bo"), ""), 404, "not-found");
    assert_eq!(send(to, "GET", "/v1/jobs", &of("bo"), "").json(), json!([]));
    assert_eq!(send(to, "GET", &job, &of("ana"), "").json()["state"], "running");
    assert_eq!(send(to, "DELETE", &job, &of("ana"), "").json()["state"], "cancelled");
    assert_eq!(send(to, "POST", "/v1/fit", &of("ana"), &simple).status, 200);
}

#[test]
fn a_full_server_says_so() {
    let server = Server::start(&["--queue", "1"]);
    let toys = json!({"mu": 1.0, "wait_s": 0, "options": {"n_toys": 100_000_000}});
    let answer = post(server.address, "/v1/hypotest-toys", &body(&fixture("simple_workspace.json"), toys));
    assert_eq!(answer.status, 202);
    let refused = post(server.address, "/v1/fit", &body(&fixture("simple_workspace.json"), json!({})));
    problem(&refused, 503, "busy");
}

#[test]
fn an_analysis_that_takes_too_long_is_stopped() {
    let server = Server::start(&["--max-time", "3"]);
    let toys = json!({"options": {"n_toys": 100_000_000}, "wait_s": 60});
    let answer = post(server.address, "/v1/toys", &body(&fixture("simple_workspace.json"), toys));
    // The answer contains the toys that were finished in time.
    assert_eq!(answer.status, 200, "{}", answer.text());
    let warnings = answer.json()["warnings"].to_string();
    assert!(warnings.contains("interrupted"), "{warnings}");
}

#[test]
fn a_head_that_never_ends_is_cut_off_and_others_are_served() {
    let server = Server::start(&["--connections", "40"]);
    let mut slow: Vec<TcpStream> = (0..30)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address).unwrap();
            stream.write_all(b"GET /v1/health HTTP/1.1\r\nhost: local").unwrap();
            stream
        })
        .collect();
    assert_eq!(get(server.address, "/v1/health").status, 200);
    let began = Instant::now();
    for stream in &mut slow {
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut rest = Vec::new();
        // The server closes the connection, with or without a response.
        let _ = stream.read_to_end(&mut rest);
    }
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
}

#[test]
fn too_many_connections_are_refused_and_then_served_again() {
    let server = Server::start(&["--connections", "10"]);
    let open: Vec<TcpStream> = (0..10).map(|_| TcpStream::connect(server.address).unwrap()).collect();
    let deadline = Instant::now() + Duration::from_secs(30);
    while get(server.address, "/v1/health").status != 503 {
        assert!(Instant::now() < deadline, "ten open connections are not the most");
    }
    drop(open);
    while get(server.address, "/v1/health").status != 200 {
        assert!(Instant::now() < deadline, "closed connections are still counted");
    }
}

#[test]
fn a_client_that_leaves_cancels_its_request() {
    let server = Server::start(&[]);
    let toys = json!({"mu": 1.0, "options": {"n_toys": 100_000_000}});
    let stream =
        post_open(server.address, "/v1/hypotest-toys", &body(&fixture("simple_workspace.json"), toys));
    let active = || {
        let text = get(server.address, "/metrics").text();
        let line = text.lines().find(|line| line.starts_with("nextstat_active ")).unwrap().to_owned();
        line.rsplit(' ').next().unwrap().parse::<usize>().unwrap()
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    while active() == 0 {
        assert!(Instant::now() < deadline, "the request does not begin");
    }
    drop(stream);
    while active() > 0 {
        assert!(Instant::now() < deadline, "the request goes on without its client");
    }
}

#[test]
fn a_server_that_others_reach_needs_tokens() {
    assert!(Server::refused(&["--listen", "0.0.0.0:0"]).contains("--token-file"));
}

#[test]
fn the_scheme_of_a_token_and_the_media_type_are_read_in_any_case() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens");
    std::fs::write(&file, "ana ana-0123456789abcdef\n").unwrap();
    let server = Server::start(&["--token-file", file.to_str().unwrap()]);
    let simple = body(&fixture("simple_workspace.json"), json!({}));
    for scheme in ["bearer", "BEARER", "Bearer"] {
        let head = format!(
            "content-type: Application/JSON; charset=utf-8\r\nauthorization: {scheme} ana-0123456789abcdef\r\n"
        );
        let answer = send(server.address, "POST", "/v1/fit", &head, &simple);
        assert_eq!(answer.status, 200, "{scheme}: {}", answer.text());
    }
}
