//! Tests of models that the server stores, and of the digests that name them.

use serde_json::json;

use super::errors::problem;
use super::http::{get, post};
use super::process::Server;
use super::{body, fixture};

#[test]
fn a_kept_model_is_named_by_both_digests() {
    let server = Server::start(&[]);
    let simple = fixture("simple_workspace.json");
    let kept = post(server.address, "/v1/models", &body(&simple, json!({})));
    assert_eq!(kept.status, 200, "{}", kept.text());
    let kept = kept.json();
    let (model, data) = (&kept["model_digest"], &kept["data_digest"]);
    assert!(kept["n_parameters"].as_u64().is_some_and(|n| n > 0) && kept["poi"].is_string());
    let by_digest = json!({"model": {"model_digest": model, "data_digest": data}}).to_string();
    let answer = post(server.address, "/v1/fit", &by_digest);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let with_body = post(server.address, "/v1/fit", &body(&simple, json!({})));
    assert_eq!(answer.json()["bestfit"], with_body.json()["bestfit"]);
    assert_eq!(&answer.json()["model_digest"], model);
    for half in [json!({"model_digest": model}), json!({"data_digest": data})] {
        problem(&post(server.address, "/v1/fit", &json!({"model": half}).to_string()), 422, "body");
    }
    let other = json!({"model": {"model_digest": model, "data_digest": model}}).to_string();
    problem(&post(server.address, "/v1/fit", &other), 404, "not-found");
}

#[test]
fn fits_of_a_small_kept_model_are_alike_whichever_thread_makes_them() {
    // The server learns that fits of the model are brief. From then on, the thread that receives a request
    // makes them.
    let server = Server::start(&[]);
    let kept = post(server.address, "/v1/models", &body(&fixture("simple_workspace.json"), json!({}))).json();
    let model = json!({"model_digest": kept["model_digest"], "data_digest": kept["data_digest"]});
    let fit = |further: serde_json::Value| {
        let mut request = json!({"model": model});
        request.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
        post(server.address, "/v1/fit", &request.to_string())
    };
    let mut first = fit(json!({})).json();
    first["wall_s"] = json!(0);
    for _ in 0..20 {
        let mut again = fit(json!({})).json();
        again["wall_s"] = json!(0);
        assert_eq!(again, first);
    }
    // A wrong option, a picture and a request for a job are answered as before.
    problem(&fit(json!({"options": {"fixed": {"nobody": 1.0}}})), 422, "analysis");
    let job = fit(json!({"wait_s": 0}));
    assert!([200, 202].contains(&job.status), "{}", job.text());
    if let Some(job) = job.header("location") {
        while get(server.address, job).json()["state"] == "running" {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
    let metrics = get(server.address, "/metrics").text();
    assert!(metrics.lines().any(|line| line == "nextstat_active 0"), "{metrics}");
}

#[test]
fn the_least_recently_used_models_go() {
    let server = Server::start(&["--memory", "16M", "--threads", "2"]);
    let metric = |name: &str| {
        let text = get(server.address, "/metrics").text();
        let line = text.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    for init in 0..200 {
        let mut workspace: serde_json::Value =
            serde_json::from_str(&fixture("simple_workspace.json")).unwrap();
        workspace["observations"][0]["data"][0] = json!(50 + init);
        let answer = post(server.address, "/v1/models", &body(&workspace.to_string(), json!({})));
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let (models, bytes) = (metric("nextstat_models "), metric("nextstat_model_bytes "));
    assert!(
        (10.0..200.0).contains(&models) && bytes <= f64::from(16 << 20),
        "{models} models, {bytes} bytes"
    );
}
