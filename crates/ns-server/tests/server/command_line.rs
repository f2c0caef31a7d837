//! Checks that the server's results are equal to the JSON that the command line writes. Only times may differ.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::http::post;
use super::process::Server;
use super::{body, fixture};

/// Returns the path of the program `nextstat` of the same build. Builds the program if it does not exist.
pub(crate) fn nextstat() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let server = assert_cmd::cargo::cargo_bin!("nextstat-server");
        let folder = server.parent().unwrap();
        let command = folder.join("nextstat");
        if !command.exists() {
            let mut cargo = Command::new(env!("CARGO"));
            cargo.args(["build", "--quiet", "-p", "ns-cli", "--manifest-path"]);
            cargo.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml"));
            if folder.ends_with("release") {
                cargo.arg("--release");
            }
            assert!(cargo.status().unwrap().success());
        }
        command
    })
}

/// Runs `nextstat` on a workspace in a file and returns the standard output.
pub(crate) fn command_line(name: &str, file: &Path, flags: &[&str]) -> String {
    let mut command = Command::new(nextstat());
    command.arg(name);
    if name == "combine" {
        command.args([file, file]);
    } else {
        command.arg("--input").arg(file);
    }
    let output = command.args(flags).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the text of a result without the times in it.
pub(crate) fn without_times(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    let next = |rest: &str| {
        let keys = ["\"wall_s\": ", "\"toys_per_s\": "];
        keys.iter().filter_map(|key| rest.find(key).map(|at| at + key.len())).min()
    };
    while let Some(at) = next(rest) {
        kept.push_str(&rest[..at]);
        let number = |sign: char| sign.is_ascii_alphanumeric() || "+-.".contains(sign);
        rest = rest[at..].trim_start_matches(number);
    }
    kept + rest
}

/// An analysis: its name, the flags for the command line, and the same options as keys of the request's body.
type Case = (&'static str, &'static [&'static str], Value);

/// Analyses that take little time for every workspace.
fn quick() -> Vec<Case> {
    vec![
        ("fit", &["--device", "cpu"], json!({})),
        ("significance", &["--device", "cpu"], json!({})),
        ("hypotest", &["--device", "cpu", "--mu", "1"], json!({"mu": 1.0})),
        ("gof", &["--device", "cpu"], json!({})),
        ("yields", &["--device", "cpu", "--prefit"], json!({"at": "init"})),
        ("inspect", &[], json!({})),
        ("validate", &[], json!({})),
    ]
}

/// The analyses that make many fits.
fn long() -> Vec<Case> {
    let toys = json!({"mu": 1.0, "options": {"n_toys": 150, "seed": 3}});
    vec![
        (
            "fit",
            &["--device", "cpu", "--asimov", "1"],
            json!({"options": {"data": {"asimov": {"poi": 1.0}}}}),
        ),
        (
            "scan",
            &["--device", "cpu", "--start", "0", "--stop", "2", "--points", "5"],
            json!({"options": {"first": {"start": 0.0, "stop": 2.0, "points": 5}}}),
        ),
        (
            "ranking",
            &["--device", "cpu", "--impact", "refit,covariance", "--top", "5"],
            json!({"options": {"impacts": ["refit", "covariance"], "top": 5}}),
        ),
        ("upper-limit", &["--device", "cpu", "--cl", "0.9"], json!({"options": {"cl": 0.9}})),
        ("yields", &["--device", "cpu"], json!({})),
        ("hypotest-toys", &["--device", "cpu", "--mu", "1", "--n-toys", "150", "--seed", "3"], toys),
        (
            "toys",
            &["--device", "cpu", "--n-toys", "150", "--seed", "3", "--shard", "1/2"],
            json!({"options": {"n_toys": 150, "seed": 3, "shard": "1/2"}}),
        ),
        ("gof", &["--device", "cpu", "--toys", "100"], json!({"n_toys": 100})),
        (
            "interval",
            &["--device", "cpu", "--cl", "0.68", "--toys", "100", "--points", "5"],
            json!({"options": {"cl": 0.68, "n_toys": 100, "points": 5}}),
        ),
        (
            "sample",
            &["--device", "cpu", "--chains", "2", "--draws", "50", "--tune", "50"],
            json!({"options": {"chains": 2, "draws": 50, "tune": 50}}),
        ),
    ]
}

/// Checks that the server's result equals the output of `nextstat`.
fn check(server: &Server, file: &Path, (name, flags, further): &Case) {
    let text = std::fs::read_to_string(file).unwrap();
    let wanted = command_line(name, file, flags);
    let answer = post(server.address, &format!("/v1/{name}"), &body(&text, further.clone()));
    if wanted.is_empty() {
        // The command refuses the request, so the server must refuse it too.
        let status = answer.status;
        assert_eq!(status, 422, "{name} of {}: {}", file.display(), answer.text());
        return;
    }
    assert_eq!(answer.status, 200, "{name} of {}: {}", file.display(), answer.text());
    assert_eq!(without_times(&answer.text()), without_times(&wanted), "{name} of {}", file.display());
}

pub(crate) fn path_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name)
}

#[test]
fn every_analysis_answers_as_the_command_line_does() {
    let server = Server::start(&[]);
    for name in ["simple_workspace.json", "all_modifiers.json", "overrides.json"] {
        for case in quick().iter().chain(&long()) {
            check(&server, &path_of(name), case);
        }
    }
    for name in ["background_only.json", "edge_yields.json", "large_counts.json", "several_measurements.json"]
    {
        for case in quick() {
            check(&server, &path_of(name), &case);
        }
    }
}

#[test]
fn a_model_of_events_and_bins_answers_as_the_command_line_does() {
    let server = Server::start(&[]);
    let file = path_of("hs3/mixed.hs3.json");
    let wanted = ["fit", "significance", "hypotest", "inspect", "validate", "ranking", "upper-limit"];
    for case in quick().iter().chain(&long()).filter(|case| wanted.contains(&case.0)) {
        check(&server, &file, case);
    }
    let of_events: [Case; 3] = [
        ("gof", &["--device", "cpu", "--statistic", "chi2"], json!({"statistic": "chi2"})),
        (
            "gof",
            &["--device", "cpu", "--statistic", "ks", "--toys", "20"],
            json!({"statistic": "ks", "n_toys": 20}),
        ),
        (
            "fit",
            &["--device", "cpu", "--weighted-uncertainties", "sumw2"],
            json!({"options": {"weighted_uncertainties": "sumw2"}}),
        ),
    ];
    for case in &of_events {
        check(&server, &file, case);
    }
}

#[test]
fn workspaces_are_edited_as_on_the_command_line() {
    let server = Server::start(&[]);
    let (file, text) = (path_of("simple_workspace.json"), fixture("simple_workspace.json"));
    let workspace: Value = serde_json::from_str(&text).unwrap();
    let channel = workspace["channels"][0]["name"].as_str().unwrap();
    let one = |options: Value| format!("{{\"workspace\": {text}, \"options\": {options}}}");
    let modifier = workspace["channels"][0]["samples"][1]["modifiers"][0]["name"].as_str().unwrap();
    let renamed = format!("{channel}=other");
    let cases = [
        ("rename", vec!["--channel", &renamed], one(json!({"channels": {channel: "other"}}))),
        ("prune", vec!["--norm-threshold", "0.5"], one(json!({"norm_threshold": 0.5}))),
        (
            "decorrelate",
            vec!["--modifier", modifier, "--by", "channel"],
            one(json!({"modifier": modifier, "by": "channel"})),
        ),
        (
            "combine",
            vec!["--join", "outer"],
            format!("{{\"workspaces\": [{text}, {text}], \"options\": {{\"join\": \"outer\"}}}}"),
        ),
    ];
    for (name, flags, body) in cases {
        let answer = post(server.address, &format!("/v1/{name}"), &body);
        assert_eq!(answer.status, 200, "{name}: {}", answer.text());
        assert_eq!(answer.text(), command_line(name, &file, &flags), "{name}");
    }
}

#[test]
fn a_patched_model_answers_as_the_command_line_does() {
    let server = Server::start(&[]);
    let file = path_of("background_only.json");
    let patch = path_of("patchset.json");
    let (text, set) = (fixture("background_only.json"), fixture("patchset.json"));
    let parsed: Value = serde_json::from_str(&set).unwrap();
    let name = parsed["patches"][0]["metadata"]["name"].as_str().unwrap();
    let argument = format!("{}:{name}", patch.display());
    let wanted = command_line("fit", &file, &["--device", "cpu", "--patch", &argument]);
    assert!(!wanted.is_empty());
    let body = format!(
        "{{\"model\": {{\"workspace\": {text}, \"patches\": [{{\"patchset\": {set}, \"name\": {}}}]}}}}",
        json!(name)
    );
    let answer = post(server.address, "/v1/fit", &body);
    assert_eq!(without_times(&answer.text()), without_times(&wanted));
}

#[test]
fn several_parameters_of_interest_answer_as_on_the_command_line() {
    let server = Server::start(&[]);
    let (file, text) = (path_of("two_signals.json"), fixture("two_signals.json"));
    let both = json!(["mu_ggH", "mu_qqH"]);
    let ask = |name: &str, poi: &Value, further: &Value| {
        let mut body = format!("{{\"model\": {{\"workspace\": {text}, \"poi\": {poi}}}");
        for (key, value) in further.as_object().unwrap() {
            body.push_str(&format!(", {}: {value}", json!(key)));
        }
        post(server.address, &format!("/v1/{name}"), &(body + "}"))
    };
    let cases: [Case; 9] = [
        ("fit", &[], json!({})),
        ("significance", &[], json!({})),
        ("upper-limit", &[], json!({})),
        ("ranking", &["--prefit"], json!({"options": {"prefit": true}})),
        ("scan", &["--points", "5"], json!({"options": {"first": {"points": 5}}})),
        ("interval", &[], json!({})),
        (
            "region",
            &["--toys", "50", "--directions", "8", "--points", "3"],
            json!({"options": {"n_toys": 50, "directions": 8, "points": 3}}),
        ),
        ("hypotest", &["--mu", "mu_ggH=2,mu_qqH=1"], json!({"mu": {"mu_qqH": 1, "mu_ggH": 2}})),
        ("hypotest", &["--mu", "1,2", "--toys", "50"], json!({"mu": [1, 2], "n_toys": 50})),
    ];
    for (name, flags, further) in &cases {
        let flags = [&["--device", "cpu", "--poi", "mu_ggH,mu_qqH"], *flags].concat();
        let wanted = command_line(name, &file, &flags);
        let answer = ask(name, &both, further);
        assert_eq!(answer.status, 200, "{name}: {}", answer.text());
        assert_eq!(without_times(&answer.text()), without_times(&wanted), "{name}");
    }
    // A stored model has other parameters of interest on request.
    let kept = post(server.address, "/v1/models", &body(&text, json!({}))).json();
    assert_eq!(kept["pois"], json!(["mu_ggH"]));
    let by_digests = |poi: &str| {
        let model =
            json!({"model_digest": kept["model_digest"], "data_digest": kept["data_digest"], "poi": poi});
        post(server.address, "/v1/significance", &json!({ "model": model }).to_string())
    };
    let wanted = command_line("significance", &file, &["--device", "cpu", "--poi", "mu_qqH"]);
    assert_eq!(without_times(&by_digests("mu_qqH").text()), without_times(&wanted));
    assert_eq!(by_digests("stat").status, 422);

    let picture = ask("ranking?plot=svg", &both, &json!({}));
    assert!(picture.status == 200 && picture.text().contains("Impact on mu_qqH"), "{}", picture.text());
    let matrix = ask("fit?plot=svg", &both, &json!({"picture": "poi_correlation"}));
    assert_eq!(matrix.status, 200, "{}", matrix.text());
    for (name, poi, further, place, told) in [
        ("upper-limit?plot=svg", &both, json!({}), "/model/poi", "a picture shows one parameter of interest"),
        ("hypotest", &both, json!({"mu": 1}), "/mu", "`mu` has 1 value"),
        ("hypotest", &both, json!({"mu": "1"}), "/mu", "expected a number, a list of numbers"),
        (
            "hypotest",
            &both,
            json!({"mu": [1, 1], "options": {"test_stat": "q0"}}),
            "/options/test_stat",
            "has no side",
        ),
        ("hypotest", &json!("mu_ggH"), json!({"mu": 1, "n_toys": 5}), "/n_toys", "hypotest-toys"),
        (
            "hypotest-toys",
            &both,
            json!({"mu": 1, "options": {"n_toys": 5}}),
            "/model/poi",
            "choose one with `poi`",
        ),
        ("fit?plot=svg", &json!("mu_ggH"), json!({"picture": "poi_correlation"}), "/picture", "no two"),
        ("fit", &json!([]), json!({}), "/model/poi", "the list of names is empty"),
        ("fit", &json!([1]), json!({}), "/model/poi/0", "expected a string"),
        ("fit", &json!(["mu_ggH", "mu_ggH"]), json!({}), "/model/workspace", "mu_ggH"),
    ] {
        let answer = ask(name, poi, &further);
        let problem = answer.json();
        let text = problem["errors"][0]["detail"].as_str().unwrap_or_default();
        assert_eq!(answer.status, 422, "{name}: {problem}");
        assert_eq!(problem["errors"][0]["pointer"], place, "{name}: {problem}");
        assert!(text.contains(told), "{name}: {problem}");
    }
}

#[test]
fn the_published_workspaces_answer_as_the_command_line_does() {
    let Some(folder) = std::env::var_os("NEXTSTAT_REFERENCE_DIR") else {
        eprintln!("SKIPPED: set NEXTSTAT_REFERENCE_DIR to compare the published workspaces");
        return;
    };
    let server = Server::start(&["--wait", "3000"]);
    let mut files: Vec<PathBuf> = std::fs::read_dir(Path::new(&folder).join("workspaces"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    assert!(files.len() >= 9, "{files:?}");
    for file in &files {
        let size = std::fs::metadata(file).unwrap().len();
        let cases = if size < 1 << 20 { quick().into_iter().chain(long()).collect() } else { quick() };
        for case in &cases {
            check(&server, file, case);
        }
    }
}

#[test]
fn shards_of_toys_are_merged_as_on_the_command_line() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let file = path_of("simple_workspace.json");
    let shards = ["1/2", "2/2"].map(|shard| {
        let saved = folder.path().join(format!("{}.parquet", &shard[..1])).display().to_string();
        let flags = [
            "--mu", "1", "--n-toys", "60", "--seed", "3", "--device", "cpu", "--shard", shard, "--save",
            &saved,
        ];
        assert!(!command_line("hypotest-toys", &file, &flags).is_empty());
        saved
    });
    let merged = |files: &[&String], further: &str| {
        let content = |file: &&String| json!(STANDARD.encode(std::fs::read(file).unwrap())).to_string();
        let contents: Vec<String> = files.iter().map(content).collect();
        post(server.address, "/v1/merge-toys", &format!("{{\"files\": [{}]{further}}}", contents.join(", ")))
    };
    let [one, two] = &shards;
    let answer = merged(&[two, one], "");
    let command = Command::new(nextstat()).args(["merge-toys", one, two]).output().unwrap();
    assert_eq!(without_times(&answer.text()), without_times(&String::from_utf8(command.stdout).unwrap()));
    assert_eq!(answer.status, 200);

    let alone = merged(&[one], "");
    assert_eq!(alone.status, 422, "{}", alone.text());
    assert!(alone.text().contains("missing") && alone.text().contains("/files"), "{}", alone.text());
    assert_eq!(merged(&[one], ", \"options\": {\"allow_incomplete\": true}").json()["shard"], "incomplete");
    let twice = merged(&[one, one], "").text();
    assert!(twice.contains("/files/1") && !twice.contains(std::env::temp_dir().to_str().unwrap()), "{twice}");
    let broken = post(server.address, "/v1/merge-toys", "{\"files\": [\"UEFSMQ==\"]}").text();
    assert!(broken.contains("/files/0"), "{broken}");
    let wrong = post(server.address, "/v1/merge-toys", "{\"files\": [\"?\"]}");
    assert!(wrong.status == 422 && wrong.text().contains("base64"), "{}", wrong.text());
}
