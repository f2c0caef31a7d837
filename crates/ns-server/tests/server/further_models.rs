//! Tests of the analyses that make models of their own: compatibility, spurious signals, unfolding and simplified likelihoods;
//! and of the combination of given results, which has no model.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::command_line::{command_line, nextstat, path_of, without_times};
use super::errors::problem;
use super::http::{Response, delete, get, post};
use super::process::Server;
use super::{body, fixture};

const TESTED: &str = "hs3/exponential.hs3.json";
const OTHER: &str = "hs3/power.hs3.json";

fn ask(server: &Server, path: &str, file: &str, further: Value) -> Response {
    post(server.address, &format!("/v1/{path}"), &body(&fixture(file), further))
}

/// Returns the keys of a request with one background.
fn with_background(file: &str, options: Value) -> Value {
    let workspace: Value = serde_json::from_str(&fixture(file)).unwrap();
    json!({"backgrounds": [{"name": "power", "model": {"workspace": workspace}}], "options": options})
}

fn given_results() -> Value {
    json!({
        "results": [
            {"name": "A", "value": 172.5, "uncertainties": {"stat": 0.4, "jes": 0.6, "lumi": 0.1}},
            {"name": "B", "value": 173.1, "uncertainties": {"stat": 0.3, "jes": 0.7, "lumi": 0.1}},
        ],
        "correlations": {"stat": 0, "jes": 0.5, "lumi": 1},
    })
}

#[test]
fn answers_are_those_of_the_command_line() {
    let server = Server::start(&["--threads", "2"]);
    let power = format!("power={}", path_of(OTHER).display());
    let truth = path_of("unfolding_truth.json").display().to_string();
    let prediction: Value = serde_json::from_str(&fixture("unfolding_truth.json")).unwrap();
    let curvature = json!({"truth": ["truth_*"], "regularisation": "curvature", "n_toys": 20, "seed": 3});
    let cases: [(&str, &str, Vec<&str>, Value); 7] = [
        ("compatibility", "many_bins.json", vec!["--leave-out"], json!({"options": {"leave_out": true}})),
        (
            "compatibility",
            "two_signals.json",
            vec!["--toys", "60", "--seed", "4"],
            json!({"options": {"n_toys": 60, "seed": 4}}),
        ),
        (
            "unfold",
            "unfolding.json",
            vec!["--truth", "truth_*", "--prediction", &truth],
            json!({"options": {"truth": ["truth_*"], "prediction": prediction}}),
        ),
        (
            "unfold",
            "unfolding.json",
            vec!["--truth", "truth_*", "--regularisation", "curvature", "--toys", "20", "--seed", "3"],
            json!({ "options": curvature }),
        ),
        (
            "unfold",
            "unfolding.json",
            vec!["--truth", "truth_*", "--regularisation", "tikhonov", "--tau", "2.5"],
            json!({"options": {"truth": ["truth_*"], "regularisation": "tikhonov", "tau": 2.5}}),
        ),
        (
            "spurious-signal",
            TESTED,
            vec!["--param", "mass", "--points", "5", "--background", &power],
            with_background(OTHER, json!({"param": "mass", "points": 5})),
        ),
        // The command refuses a model with one channel.
        ("compatibility", "counting.json", vec![], json!({})),
    ];
    for (name, file, flags, further) in cases {
        let wanted = command_line(name, &path_of(file), &[&["--device", "cpu"], flags.as_slice()].concat());
        let answer = ask(&server, name, file, further);
        if wanted.is_empty() {
            problem(&answer, 422, "analysis");
            continue;
        }
        assert_eq!(answer.status, 200, "{name}: {}", answer.text());
        assert_eq!(without_times(&answer.text()), without_times(&wanted), "{name} of {file}");
    }
    let both = ["--device", "cpu", "--poi", "mu_ggH,mu_qqH"];
    let wanted = command_line("compatibility", &path_of("two_signals.json"), &both);
    let model =
        format!("{{\"workspace\": {}, \"poi\": [\"mu_ggH\", \"mu_qqH\"]}}", fixture("two_signals.json"));
    let answer = post(server.address, "/v1/compatibility", &format!("{{\"model\": {model}}}"));
    assert_eq!(without_times(&answer.text()), without_times(&wanted));
}

#[test]
fn a_simplified_likelihood_is_that_of_the_command_line() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let named = |name: &str| folder.path().join(name).display().to_string();
    let (file, text) = (path_of("simple_workspace.json"), fixture("simple_workspace.json"));
    let (fitted, saved) = (named("fit.json"), named("simplified.json"));
    command_line("fit", &file, &["--device", "cpu", "--mask", "SR", "-o", &fitted]);
    let flags = ["--device", "cpu", "--regions", "SR", "--at", &fitted, "--draws", "20000", "--save", &saved];
    let wanted = command_line("simplify", &file, &flags);
    assert!(!wanted.is_empty());
    let at = post(
        server.address,
        "/v1/fit",
        &format!("{{\"model\": {{\"workspace\": {text}, \"mask\": [\"SR\"]}}}}"),
    )
    .json();
    let options = json!({"channels": ["SR"], "n_draws": 20_000});
    let answer =
        ask(&server, "simplify", "simple_workspace.json", json!({"options": options, "at": at})).json();
    let (mut found, mut wanted) = (answer, serde_json::from_str::<Value>(&wanted).unwrap());
    let workspace = found.as_object_mut().unwrap().remove("workspace").unwrap();
    for result in [&mut found, &mut wanted] {
        result.as_object_mut().unwrap().remove("wall_s");
    }
    assert_eq!(found, wanted);
    assert!(found["validation"].as_array().is_some_and(|rows| rows.len() == 8), "{found}");
    let saved: Value = serde_json::from_str(&std::fs::read_to_string(saved).unwrap()).unwrap();
    assert_eq!(workspace, saved);
    // The workspace is one that the server fits.
    let fit = post(server.address, "/v1/fit", &body(&workspace.to_string(), json!({})));
    assert!(fit.status == 200 && fit.json()["converged"] == true, "{}", fit.text());
    let bare = ask(
        &server,
        "simplify",
        "simple_workspace.json",
        json!({"options": {"n_draws": 2000}, "validation": false}),
    );
    assert_eq!(bare.json()["validation"], json!([]), "{}", bare.text());
}

#[test]
fn given_results_are_combined_as_on_the_command_line() {
    let server = Server::start(&[]);
    let answer = post(server.address, "/v1/blue", &given_results().to_string());
    assert_eq!(answer.status, 200, "{}", answer.text());
    let file = path_of("given_results.toml");
    let command = Command::new(nextstat()).arg("blue").arg(file).output().unwrap();
    assert_eq!(answer.text(), String::from_utf8(command.stdout).unwrap());
}

#[test]
fn results_are_drawn() {
    let server = Server::start(&[]);
    let penalty = json!({"truth": ["truth_*"], "regularisation": "curvature", "points": 11});
    let strengths = json!({"options": penalty, "picture": "strengths"});
    let cases = [
        ("compatibility", "many_bins.json", json!({})),
        ("unfold", "unfolding.json", json!({"options": penalty})),
        ("unfold", "unfolding.json", strengths),
        ("spurious-signal", TESTED, with_background(OTHER, json!({"param": "mass", "points": 5}))),
    ];
    let mut drawn: Vec<String> = Vec::new();
    for (name, file, further) in cases {
        let answer = ask(&server, &format!("{name}?plot=svg"), file, further);
        assert_eq!(answer.status, 200, "{name}: {}", answer.text());
        assert!(answer.text().contains("<svg") && !drawn.contains(&answer.text()), "{name}");
        drawn.push(answer.text());
    }
    let none = json!({"options": {"truth": ["truth_*"]}, "picture": "strengths"});
    let answer = ask(&server, "unfold?plot=svg", "unfolding.json", none);
    assert_eq!(problem(&answer, 422, "body")["errors"][0]["pointer"], "/picture");
    let simplify = json!({"options": {"n_draws": 2000}, "validation": false});
    let answer = ask(&server, "simplify?plot=svg", "simple_workspace.json", simplify);
    problem(&answer, 422, "no-picture");
    problem(&post(server.address, "/v1/blue?plot=svg", &given_results().to_string()), 422, "no-picture");
}

#[test]
fn mistakes_are_named_with_their_place() {
    let server = Server::start(&[]);
    let without = |key: &str| {
        let mut results = given_results();
        results["correlations"].as_object_mut().unwrap().remove(key);
        results
    };
    let mut misspelt = given_results();
    misspelt["results"][1]["valeu"] = json!(1.0);
    let mut twice = given_results();
    twice["results"][1]["name"] = json!("A");
    for (further, pointer, told) in [
        (without("jes"), "/correlations", "'jes' is missing"),
        (misspelt, "/results/1/valeu", "unknown field `valeu`"),
        (twice, "/results", "'A' is there twice"),
        (json!({"results": []}), "/results", "there is none"),
    ] {
        let answer = post(server.address, "/v1/blue", &further.to_string());
        check(&answer, pointer, told);
    }
    let truth = json!(["truth_*"]);
    let empty = json!({"backgrounds": [{"name": "a", "model": {}}], "options": {"param": "mass"}});
    let fit = ask(&server, "fit", "simple_workspace.json", json!({"options": {"covariance": false}})).json();
    for (name, file, further, pointer, told) in [
        (
            "compatibility",
            "many_bins.json",
            json!({"options": {"toys": 5}}),
            "/options/toys",
            "unknown field",
        ),
        ("unfold", "unfolding.json", json!({}), "", "missing field `options`"),
        (
            "unfold",
            "unfolding.json",
            json!({"options": {"truth": truth, "tau": 3}}),
            "/options/tau",
            "no penalty",
        ),
        (
            "unfold",
            "unfolding.json",
            json!({"options": {"truth": truth, "regularisation": "ridge"}}),
            "/options/regularisation",
            "ridge",
        ),
        ("spurious-signal", TESTED, empty, "/backgrounds/0/model", "give either `workspace`"),
        ("spurious-signal", TESTED, json!({"options": {"param": "mass"}}), "", "missing field `backgrounds`"),
        ("simplify", "simple_workspace.json", json!({"at": fit}), "/at/covariance", "has no covariance"),
        (
            "simplify",
            "simple_workspace.json",
            json!({"options": {"draws": 1}}),
            "/options/draws",
            "unknown field",
        ),
    ] {
        check(&ask(&server, name, file, further), pointer, told);
    }
    let mut wrong = with_background(OTHER, json!({"param": "mass"}));
    wrong["backgrounds"][0]["model"]["workspace"] = json!({"channels": []});
    let answer = ask(&server, "spurious-signal", TESTED, wrong);
    let place = problem(&answer, 422, "workspace")["errors"][0]["pointer"].to_string();
    assert!(place.starts_with("\"/backgrounds/0/model/workspace"), "{place}");
    let other = with_background("simple_workspace.json", json!({"param": "mass"}));
    let answer = ask(&server, "spurious-signal", TESTED, other);
    let detail = problem(&answer, 422, "analysis")["detail"].to_string();
    assert!(detail.contains("background power: it has no event channel"), "{detail}");
    let text = fixture("simple_workspace.json");
    let unknown = json!({"modifier": "nothing", "by": "channel"});
    let answer = post(
        server.address,
        "/v1/decorrelate",
        &format!("{{\"workspace\": {text}, \"options\": {unknown}}}"),
    );
    assert!(problem(&answer, 422, "workspace").to_string().contains("nothing"));
}

/// Checks the place and the text of the first mistake.
fn check(answer: &Response, pointer: &str, told: &str) {
    let problem = problem(answer, 422, "body");
    assert_eq!(problem["errors"][0]["pointer"], pointer, "{problem}");
    assert!(problem["errors"][0]["detail"].as_str().is_some_and(|detail| detail.contains(told)), "{problem}");
}

#[test]
fn what_is_too_large_is_refused() {
    let server = Server::start(&[]);
    let truth = json!(["truth_*"]);
    let cases = [
        ("compatibility", "many_bins.json", json!({"options": {"n_toys": u64::MAX}})),
        ("unfold", "unfolding.json", json!({"options": {"truth": truth, "points": 10_001}})),
        ("spurious-signal", TESTED, with_background(OTHER, json!({"param": "mass", "points": 10_001}))),
        ("simplify", "simple_workspace.json", json!({"options": {"n_draws": 100_000_000}})),
    ];
    for (name, file, further) in cases {
        problem(&ask(&server, name, file, further), 413, "too-large");
    }
    let result = |i: usize| json!({"name": i.to_string(), "value": 1.0, "uncertainties": {"stat": 1.0}});
    let many: Vec<Value> = (0..301).map(result).collect();
    let answer =
        post(server.address, "/v1/blue", &json!({"results": many, "correlations": {"stat": 0}}).to_string());
    problem(&answer, 413, "too-large");
    let source = |i: usize| (format!("s{i}"), json!(1.0));
    let wide: serde_json::Map<String, Value> = (0..1001).map(source).collect();
    let answer = post(
        server.address,
        "/v1/blue",
        &json!({"results": [{"name": "A", "value": 1.0, "uncertainties": wide}]}).to_string(),
    );
    problem(&answer, 413, "too-large");
    // The memory of the server limits the draws too.
    let small = Server::start(&["--memory", "16M"]);
    let draws = json!({"options": {"n_draws": 1_000_000}});
    problem(&ask(&small, "simplify", "simple_workspace.json", draws), 413, "too-large");
}

#[test]
fn jobs_report_progress_and_are_cancelled() {
    let server = Server::start(&[]);
    let deadline = Instant::now() + Duration::from_secs(120);
    let unfold =
        json!({"truth": ["truth_*"], "regularisation": "tikhonov", "tau": 1.0, "n_toys": 10_000_000});
    for (name, file, options, keeps) in [
        // The statistic of a toy needs the fits of both models, and those of the second come last.
        ("compatibility", "many_bins.json", json!({"n_toys": 10_000_000}), false),
        ("unfold", "unfolding.json", unfold, true),
    ] {
        let answer = ask(&server, name, file, json!({"options": options, "wait_s": 0}));
        assert_eq!(answer.status, 202, "{name}: {}", answer.text());
        let job = answer.header("location").unwrap().to_owned();
        while get(server.address, &job).json()["progress"]["done"].as_u64().unwrap() == 0 {
            assert!(Instant::now() < deadline, "{name} makes no progress");
        }
        // Others are served beside it.
        assert_eq!(ask(&server, "fit", "simple_workspace.json", json!({})).status, 200);
        let began = Instant::now();
        let status = delete(server.address, &job).json();
        assert!(began.elapsed() < Duration::from_secs(10), "{name}: {:?}", began.elapsed());
        assert_eq!((&status["state"], &status["has_result"]), (&json!("cancelled"), &json!(keeps)), "{name}");
        if keeps {
            let result = get(server.address, &format!("{job}/result")).json();
            assert_eq!(result["interrupted"], true, "{result}");
        }
    }
}
