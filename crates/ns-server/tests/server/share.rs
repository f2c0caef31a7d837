//! Checks that short requests do not wait for long requests, and that clients share the thread time.

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
    // One piece of toys takes at most 50 ms. Other programs of this machine may take further time, but not from each fit.
    assert!(times[7] < Duration::from_millis(100), "{times:?}");
    assert_eq!(get(server.address, &job).json()["state"], "running");
    delete(server.address, &job);
}

#[test]
fn a_batch_has_the_fits_of_its_data_sets() {
    let server = Server::start(&[]);
    let text = fixture("simple_workspace.json");
    let kept = post(server.address, "/v1/models", &body(&text, json!({}))).json();
    let fit = post(server.address, "/v1/fit", &body(&text, json!({}))).json();
    let workspace: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut channels = workspace["observations"].as_array().unwrap().clone();
    channels.sort_by_key(|channel| channel["name"].as_str().unwrap().to_owned());
    let main: Vec<f64> =
        channels.iter().flat_map(|c| c["data"].as_array().unwrap()).map(|x| x.as_f64().unwrap()).collect();
    assert_eq!(kept["n_bins"], main.len());
    let more: Vec<f64> = main.iter().map(|x| x + 3.0).collect();
    let sets = json!({"datasets": [{"main": main}, {"main": more}, {"main": main}]});
    let batch = post(server.address, "/v1/fit-batch", &body(&text, sets)).json();
    assert_eq!((&batch["n_converged"], &batch["errors"]), (&json!(3), &json!([null, null, null])));
    assert_eq!(batch["bestfit"][0], batch["bestfit"][2]);
    assert_ne!(batch["bestfit"][0], batch["bestfit"][1]);
    let values = |row: &serde_json::Value| -> Vec<f64> {
        row.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
    };
    let pairs = values(&batch["bestfit"][0]).into_iter().zip(values(&fit["bestfit"]));
    assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-6 * (1.0 + b.abs())), "{batch}");
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
