//! Tests of jobs. A request becomes a job if it takes longer than the time to wait.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::errors::problem;
use super::http::{delete, get, post};
use super::process::Server;
use super::schemas::check_named;
use super::{body, fixture};

/// Starts a job that runs toys, and returns the path of the job on the server.
fn begin(server: &Server, n_toys: u64) -> String {
    let toys = json!({"mu": 1.0, "wait_s": 0, "options": {"n_toys": n_toys, "seed": 5}});
    let answer = post(server.address, "/v1/hypotest-toys", &body(&fixture("simple_workspace.json"), toys));
    assert_eq!(answer.status, 202, "{}", answer.text());
    assert_eq!(answer.json()["state"], "running");
    answer.header("location").unwrap().to_owned()
}

/// Reads the events that a job sends until the stream ends. Returns the name and the data of each event.
fn events(server: &Server, job: &str) -> Vec<(String, Value)> {
    let answer = get(server.address, &format!("{job}/events"));
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let text = answer.text();
    let field = |event: &str, name: &str| {
        event.lines().find_map(|line| line.strip_prefix(name).map(|rest| rest.trim().to_owned()))
    };
    let blocks = text.split("\n\n").filter(|block| block.contains("event:"));
    blocks
        .map(|block| {
            let data = serde_json::from_str(&field(block, "data:").unwrap()).unwrap();
            (field(block, "event:").unwrap(), data)
        })
        .collect()
}

/// Returns a result without the times in it.
fn numbers(result: &Value) -> Value {
    let mut result = result.clone();
    let keys = result.as_object_mut().unwrap();
    keys.remove("wall_s");
    keys.remove("toys_per_s");
    result
}

#[test]
fn a_job_reports_progress_and_has_a_result() {
    let server = Server::start(&[]);
    let job = begin(&server, 30_000);
    let events = events(&server, &job);
    let (last, before) = events.split_last().unwrap();
    assert_eq!((last.0.as_str(), &last.1["state"]), ("end", &json!("done")));
    assert!(before.iter().all(|(name, _)| name == "progress") && !before.is_empty());
    let done: Vec<u64> = before.iter().map(|(_, data)| data["done"].as_u64().unwrap()).collect();
    assert!(done.is_sorted(), "{done:?}");
    let result = get(server.address, &format!("{job}/result"));
    assert_eq!(result.status, 200);
    let toys = json!({"mu": 1.0, "options": {"n_toys": 30_000, "seed": 5}});
    let at_once = post(server.address, "/v1/hypotest-toys", &body(&fixture("simple_workspace.json"), toys));
    assert_eq!(numbers(&result.json()), numbers(&at_once.json()));
    let listed = get(server.address, "/v1/jobs").json();
    assert_eq!(listed.as_array().unwrap().len(), 1);
}

#[test]
fn a_cancelled_job_keeps_what_is_done() {
    let server = Server::start(&[]);
    let job = begin(&server, 100_000_000);
    let deadline = Instant::now() + Duration::from_secs(60);
    while get(server.address, &job).json()["progress"]["done"].as_u64().unwrap() < 5000 {
        assert!(Instant::now() < deadline, "the job makes no progress");
    }
    assert_eq!(get(server.address, &format!("{job}/result")).status, 202);
    let began = Instant::now();
    let status = delete(server.address, &job).json();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!((&status["state"], &status["has_result"]), (&json!("cancelled"), &json!(true)));
    let result = get(server.address, &format!("{job}/result")).json();
    assert!(result["warnings"].to_string().contains("interrupted"), "{result}");
    check_named("hypotest-toys", &result);
    // Both hypotheses have toys, so the finished part has a CLs.
    assert!(["b", "sb"].iter().all(|which| result["n_toys"][which].as_u64() > Some(0)), "{result}");
    assert!(result["cls"].as_f64().is_some(), "{result}");
    problem(&get(server.address, "/v1/jobs/0123"), 404, "not-found");
}

#[test]
fn jobs_go_on_after_the_server_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_str().unwrap();
    let server = Server::start(&["--state-dir", state]);
    let job = begin(&server, 60_000);
    let short = begin(&server, 100);
    let deadline = Instant::now() + Duration::from_secs(60);
    while get(server.address, &short).json()["state"] != "done" {
        assert!(Instant::now() < deadline, "the short job does not end");
    }
    let first = get(server.address, &format!("{short}/result")).text();
    let state_of_short = get(server.address, &short).json();
    assert_eq!(state_of_short["progress"], json!({"done": 200, "total": 200}), "{state_of_short}");
    let pieces = || {
        let folders = std::fs::read_dir(folder.path().join("toys")).unwrap();
        folders
            .filter_map(|entry| std::fs::read_dir(entry.ok()?.path()).ok())
            .flatten()
            .filter(|file| {
                file.as_ref().is_ok_and(|file| file.path().extension().is_some_and(|e| e == "parquet"))
            })
            .count()
    };
    while pieces() == 0 && get(server.address, &job).json()["state"] == "running" {
        assert!(Instant::now() < deadline, "no toys are saved");
    }
    server.kill();
    for _ in 0..9 {
        let server = Server::start(&["--state-dir", state]);
        // Depending on the speed of the machine, the job may have ended by now.
        let status = get(server.address, &job);
        assert_eq!(status.status, 200, "{}", status.text());
        server.kill();
    }
    let server = Server::start(&["--state-dir", state]);
    let ended = events(&server, &job).pop().unwrap();
    assert_eq!(ended.1["state"], "done", "{ended:?}");
    assert_eq!(get(server.address, &format!("{short}/result")).text(), first);
    // The job that ended before the restart is still listed, with its progress.
    assert_eq!(get(server.address, &short).json(), state_of_short);
    let list = get(server.address, "/v1/jobs").json();
    assert_eq!(list.as_array().unwrap().len(), 2, "{list}");
    assert!(list.as_array().unwrap().contains(&state_of_short), "{list}");
    let result = get(server.address, &format!("{job}/result")).json();
    let toys = json!({"mu": 1.0, "options": {"n_toys": 60_000, "seed": 5}});
    let at_once = post(server.address, "/v1/hypotest-toys", &body(&fixture("simple_workspace.json"), toys));
    assert_eq!(numbers(&result), numbers(&at_once.json()));
    assert_eq!(std::fs::read_dir(folder.path().join("toys")).unwrap().count(), 0, "toys are left behind");
    server.stop();
}

#[test]
fn a_running_job_of_toys_has_a_partial_result() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_str().unwrap();
    let server = Server::start(&["--state-dir", state]);
    let job = begin(&server, 100_000_000);
    let deadline = Instant::now() + Duration::from_secs(60);
    let partial = loop {
        let answer = get(server.address, &format!("{job}/result?partial=true"));
        if answer.status == 200 {
            break answer.json();
        }
        problem(&answer, 409, "no-partial-result");
        assert!(Instant::now() < deadline, "no toys are saved");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(partial["n_toys"]["b"].as_u64().is_some_and(|n| n > 0), "{partial}");
    assert!(partial["clb"].as_f64().is_some() && partial["shard"] == "incomplete", "{partial}");
    assert!(!partial.to_string().contains(state), "{partial}");
    check_named("hypotest-toys", &partial);
    assert_eq!(get(server.address, &format!("{job}/result")).status, 202);
    assert_eq!(delete(server.address, &job).json()["state"], "cancelled");
    let without = Server::start(&[]);
    let job = begin(&without, 100_000_000);
    problem(&get(without.address, &format!("{job}/result?partial=true")), 409, "no-partial-result");
    problem(&get(without.address, &format!("{job}/result?part=true")), 422, "body");
}

#[test]
fn a_stopped_server_saves_its_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_str().unwrap();
    let server = Server::start(&["--state-dir", state]);
    let job = begin(&server, 100_000_000);
    let deadline = Instant::now() + Duration::from_secs(60);
    while get(server.address, &job).json()["progress"]["done"].as_u64().unwrap() < 5000 {
        assert!(Instant::now() < deadline, "the job makes no progress");
    }
    let log = server.stop();
    assert!(log.iter().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{log:?}");
    assert!(!log.iter().any(|line| line.contains("observations") || line.contains("ERROR")), "{log:?}");
    let server = Server::start(&["--state-dir", state]);
    while get(server.address, &job).json()["progress"]["done"] == 0 {
        assert!(Instant::now() < deadline, "the job does not go on");
    }
    assert_eq!(delete(server.address, &job).json()["state"], "cancelled");
    let result = get(server.address, &format!("{job}/result")).json();
    assert!(result["n_toys"]["b"].as_u64().is_some_and(|n| n > 0), "{result}");
}

#[test]
fn a_second_server_on_the_same_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_str().unwrap();
    let first = Server::start(&["--state-dir", state]);
    let message = Server::refused(&["--listen", "127.0.0.1:0", "--state-dir", state]);
    assert!(message.contains("another server uses --state-dir") && message.contains(state), "{message}");
    first.kill();
    Server::start(&["--state-dir", state]).kill();
}

#[test]
fn results_that_stay_in_memory_take_a_quarter_of_it_at_most() {
    let server = Server::start(&["--memory", "16M", "--quota", "8"]);
    let text = fixture("simple_workspace.json");
    let n_bins =
        post(server.address, "/v1/models", &body(&text, json!({}))).json()["n_bins"].as_u64().unwrap();
    let sets = vec![json!({"main": vec![55.0; usize::try_from(n_bins).unwrap()]}); 500];
    // Local fits, because only the sizes of the results matter here.
    let fits = body(&text, json!({"wait_s": 0, "datasets": sets, "options": {"search": "local"}}));
    let mut total = 0;
    let deadline = Instant::now() + Duration::from_secs(60);
    for _ in 0..16 {
        let answer = post(server.address, "/v1/fit-batch", &fits);
        assert_eq!(answer.status, 202, "{}", answer.text());
        let job = answer.header("location").unwrap().to_owned();
        loop {
            let state = get(server.address, &job);
            // A result that is too large alone is not kept either.
            if state.status == 404 || state.json()["state"] != "running" {
                total += get(server.address, &format!("{job}/result")).body.len();
                break;
            }
            assert!(Instant::now() < deadline, "the fits do not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    let list = get(server.address, "/v1/jobs").json();
    let bytes = |job: &Value| {
        get(server.address, &format!("/v1/jobs/{}/result", job["id"].as_str().unwrap())).body.len()
    };
    let kept: usize = list.as_array().unwrap().iter().map(bytes).sum();
    assert!(
        kept <= 4 << 20 && total > 4 << 20,
        "{kept} bytes in {} of {total}",
        list.as_array().unwrap().len()
    );
}
