//! Checks that the memory of the server stays within its limit, whatever it is asked.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::errors::problem;
use super::http::{get, post};
use super::process::Server;
use super::{body, fixture};

/// Memory, in kilobytes, of a server that keeps nothing: program, threads and their stacks.
const BASE_KB: u64 = 60 << 10;

/// Returns a request whose patch doubles the document with each of its operations.
fn patch_bomb(operations: usize) -> String {
    let copies: Vec<Value> =
        (0..operations).map(|i| json!({"op": "copy", "from": "", "path": format!("/x{i}")})).collect();
    let workspace: Value = serde_json::from_str(&fixture("simple_workspace.json")).unwrap();
    json!({"model": {"workspace": workspace, "patches": [{"patch": copies}]}}).to_string()
}

/// Returns a workspace of 16 parameters, with a number that makes it different from others.
fn workspace(number: u32) -> String {
    let constrained =
        |i: u32| json!({"name": format!("s{i}"), "type": "normsys", "data": {"hi": 1.1, "lo": 0.9}});
    let mut modifiers: Vec<Value> = (0..15).map(constrained).collect();
    modifiers.push(json!({"name": "mu", "type": "normfactor", "data": null}));
    let data = vec![10.0 + f64::from(number); 12];
    json!({
        "channels": [{"name": "c", "samples": [{"name": "s", "data": data, "modifiers": modifiers}]}],
        "observations": [{"name": "c", "data": data}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
        "version": "1.0.0",
    })
    .to_string()
}

#[test]
fn a_patch_that_would_grow_without_bound_is_refused_before_it_is_made() {
    let server = Server::start(&["--memory", "200M"]);
    let bomb = patch_bomb(40);
    let answer = post(server.address, "/v1/fit", &bomb);
    let problem = problem(&answer, 422, "workspace");
    let detail = problem["detail"].to_string();
    assert!(
        detail.contains("Operation ") && detail.contains("copy at '/x") && detail.contains("Copy less"),
        "{detail}"
    );
    let (to, bomb) = (server.address, &bomb);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|_| scope.spawn(move || (0..5).all(|_| post(to, "/v1/models", bomb).status == 422)))
            .collect();
        assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    });
    if let Some(resident) = server.resident() {
        assert!(resident < BASE_KB + (240 << 10), "{resident} kB");
    }
}

#[test]
fn kept_models_stay_within_the_memory() {
    let server = Server::start(&["--memory", "20M"]);
    for number in 0..400 {
        let answer = post(server.address, "/v1/models", &body(&workspace(number), json!({})));
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let metrics = get(server.address, "/metrics").text();
    let kept = metrics.lines().find(|line| line.starts_with("nextstat_models ")).unwrap();
    let kept: u64 = kept.rsplit(' ').next().unwrap().parse().unwrap();
    assert!((5..300).contains(&kept), "{kept} models are kept");
    if let Some(resident) = server.resident() {
        assert!(resident < BASE_KB + (24 << 10), "{resident} kB with {kept} models");
    }
}

#[test]
fn memory_is_given_back_after_large_requests() {
    let Some(base) = Server::start(&[]).resident() else { return };
    let server = Server::start(&["--memory", "1G"]);
    let numbers = vec!["0.5"; 2_000_000].join(",");
    for _ in 0..3 {
        let answer = post(server.address, "/v1/fit", &body(&format!("{{\"x\": [{numbers}]}}"), json!({})));
        problem(&answer, 422, "workspace");
    }
    let deadline = Instant::now() + Duration::from_secs(30);
    while server.resident().unwrap() > base + (40 << 10) {
        assert!(Instant::now() < deadline, "{} kB, {base} kB at the start", server.resident().unwrap());
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn json_that_needs_more_memory_than_there_is_is_refused() {
    let server = Server::start(&["--memory", "100M"]);
    let objects = vec!["{\"\":0}"; 400_000].join(",");
    let answer = post(server.address, "/v1/fit", &body(&format!("{{\"x\": [{objects}]}}"), json!({})));
    let detail = problem(&answer, 413, "too-large")["detail"].to_string();
    assert!(detail.contains("memory") && detail.contains("83886080"), "{detail}");
    assert!(server.resident().is_none_or(|resident| resident < BASE_KB + (120 << 10)));
}

#[test]
fn a_memory_without_room_for_models_is_refused_at_the_start() {
    let message = Server::refused(&["--listen", "127.0.0.1:0", "--memory", "1M"]);
    assert!(message.contains("--memory 1048576 is too little") && message.contains("16M"), "{message}");
}

/// Returns the workspace of [`workspace`] as the model of a request with further keys, on a server with 20 MB.
fn ask_of_small_server(path: &str, further: Value) -> String {
    let server = Server::start(&["--memory", "20M"]);
    let answer = post(server.address, path, &body(&workspace(1), further));
    let detail = problem(&answer, 413, "too-large")["detail"].to_string();
    assert!(server.resident().is_none_or(|resident| resident < BASE_KB + (24 << 10)));
    detail
}

#[test]
fn the_fits_of_a_scan_are_counted_before_they_are_made() {
    let detail = ask_of_small_server("/v1/scan", json!({"options": {"first": {"points": 900_000}}}));
    assert!(detail.contains("memory"), "{detail}");
}

#[test]
fn the_points_of_a_limit_are_counted_before_they_are_fitted() {
    let detail = ask_of_small_server("/v1/upper-limit", json!({"options": {"auto_scan": 90_000}}));
    assert!(detail.contains("memory"), "{detail}");
}

#[test]
fn the_covariances_of_a_batch_are_counted_before_they_are_made() {
    let sets = vec![json!({"main": vec![9.0; 12]}); 1000];
    let detail =
        ask_of_small_server("/v1/fit-batch", json!({"datasets": sets, "options": {"covariance": true}}));
    assert!(detail.contains("memory"), "{detail}");
}

#[test]
fn the_toys_that_are_kept_for_an_expected_set_are_counted() {
    let options = json!({"mu": 1.0, "options": {"n_toys": 90_000_000, "expected_set": true}});
    let detail = ask_of_small_server("/v1/hypotest-toys", options);
    assert!(detail.contains("memory"), "{detail}");
}

#[test]
fn the_copies_of_patches_are_counted_when_a_workspace_is_validated() {
    let server = Server::start(&["--memory", "16M"]);
    // Without patches the workspace needs little. The copies may need an eighth of the memory, twice.
    let numbers = vec!["0.5"; 60_000].join(",");
    let plain = format!("{{\"model\": {{\"workspace\": {{\"x\": [{numbers}]}}");
    let without = post(server.address, "/v1/validate", &format!("{plain}}}}}"));
    assert_eq!(without.status, 200, "{}", without.text());
    let with =
        post(server.address, "/v1/validate", &format!("{plain}, \"patches\": [{{\"patch\": []}}]}}}}"));
    problem(&with, 413, "too-large");
}
