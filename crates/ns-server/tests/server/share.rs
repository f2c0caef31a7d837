//! Short requests do not wait for long ones, and clients share the threads.

use std::time::{Duration, Instant};

use serde_json::json;

use super::http::{delete, get, post};
use super::process::Server;
use super::{body, fixture};

#[test]
fn a_fit_is_answered_while_toys_run() {
    let server = Server::start(&["--threads", "1"]);
    let toys = json!({"wait_s": 0, "options": {"n_toys": 100_000_000}});
    let job = post(server.address, "/v1/toys", &body(&fixture("many_bins.json"), toys));
    let job = job.header("location").unwrap().to_owned();
    let fit = body(&fixture("simple_workspace.json"), json!({}));
    assert_eq!(post(server.address, "/v1/fit", &fit).status, 200);
    let mut times: Vec<Duration> = (0..30)
        .map(|_| {
            let began = Instant::now();
            assert_eq!(post(server.address, "/v1/fit", &fit).status, 200);
            began.elapsed()
        })
        .collect();
    times.sort();
    // One piece of toys takes at most 50 ms; other programs of this machine may take their part too.
    assert!(times[15] < Duration::from_millis(100), "{times:?}");
    assert_eq!(get(server.address, &job).json()["state"], "running");
    delete(server.address, &job);
}

#[test]
fn many_clients_of_one_model_get_the_same_answer() {
    let server = Server::start(&[]);
    let fit = body(&fixture("all_modifiers.json"), json!({}));
    let first = post(server.address, "/v1/fit", &fit).json()["bestfit"].clone();
    let (to, fit) = (server.address, &fit);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(move || {
                    (0..8).map(|_| post(to, "/v1/fit", fit).json()["bestfit"].clone()).collect::<Vec<_>>()
                })
            })
            .collect();
        for thread in threads {
            assert!(thread.join().unwrap().iter().all(|bestfit| *bestfit == first));
        }
    });
}
