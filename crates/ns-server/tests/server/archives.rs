//! Tests of models in archives.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::errors::problem;
use super::http::{Response, get, post};
use super::process::Server;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/");

/// Returns a tar archive. Names are written as they are.
fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, bytes) in members {
        let mut header = [0_u8; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", bytes.len()).as_bytes());
        header[156] = b'0';
        header[257..265].copy_from_slice(b"ustar\x0000");
        header[148..156].copy_from_slice(b"        ");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        out.extend_from_slice(&header);
        out.extend_from_slice(bytes);
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.extend_from_slice(&[0; 1024]);
    out
}

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{FIXTURES}{name}")).unwrap()
}

fn send(server: &Server, name: &str, archive: &[u8], further: Value) -> Response {
    let mut model = json!({"archive": STANDARD.encode(archive)});
    model.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
    post(server.address, &format!("/v1/{name}"), &json!({"model": model}).to_string())
}

#[test]
fn models_of_archives_are_analysed_and_kept() {
    let server = Server::start(&[]);
    let card =
        tar(&[("a/card.txt", &fixture("cards/shapes.txt")), ("a/shapes.csv", &fixture("cards/shapes.csv"))]);
    let config = tar(&[
        ("trex.config", &fixture("build/trex.config")),
        ("histograms.root", &fixture("build/histograms.root")),
    ]);
    for (archive, poi) in [(&card, "r"), (&config, "mu"), (&fixture("cards/counting.txt"), "r")] {
        let fit = send(&server, "fit", archive, json!({}));
        assert_eq!(fit.status, 200, "{}", fit.text());
        assert_eq!(fit.json()["converged"], true);
        let contents = send(&server, "inspect", archive, json!({}));
        assert_eq!(contents.json()["poi"], poi, "{}", contents.text());
        assert_eq!(send(&server, "validate", archive, json!({})).json()["valid"], true);
        let kept = send(&server, "models", archive, json!({})).json();
        let by_digest =
            json!({"model": {"model_digest": kept["model_digest"], "data_digest": kept["data_digest"]}});
        let again = post(server.address, "/v1/fit", &by_digest.to_string());
        assert_eq!(again.json()["bestfit"], fit.json()["bestfit"]);
    }
    let options = json!({"file": "a/card.txt", "mc_stats": "ignore", "map": ["sr/signal:mu[1,0,5]"]});
    assert_eq!(send(&server, "inspect", &card, options).json()["poi"], "mu");
}

#[test]
fn broken_archives_are_answered_with_a_place() {
    let server = Server::start(&[]);
    let card = fixture("cards/shapes.txt");
    let text = String::from_utf8(card.clone()).unwrap();
    let outside = text.replace("shapes.csv", &format!("{FIXTURES}cards/shapes.csv"));
    let two = tar(&[("a.txt", &card), ("b.txt", &card)]);
    for (archive, further, words) in [
        (tar(&[("card.txt", outside.as_bytes())]), json!({}), "there is no such file in the archive"),
        (tar(&[("../card.txt", &card)]), json!({}), "contains '..'"),
        (two.clone(), json!({}), "several models"),
        (two.clone(), json!({"file": "c.txt"}), "no file 'c.txt'"),
        (tar(&vec![("a", &b""[..]); 10_001]), json!({}), "more than 10000 files"),
        (fixture("simple_workspace.json"), json!({"mass": 125}), "option of datacards"),
        (fixture("cards/counting.txt"), json!({"mc_stats": "some"}), "this is not known"),
        (fixture("cards/counting.txt"), json!({"patches": [{"patch": []}]}), "A patch was given"),
        (b"words".to_vec(), json!({}), "no workspace, no HS3 model"),
    ] {
        let answer = send(&server, "fit", &archive, further);
        let problem = problem(&answer, 422, "workspace");
        assert_eq!(problem["errors"][0]["pointer"], "/model/archive");
        let said = problem["errors"][0]["detail"].as_str().unwrap_or_default();
        assert!(said.contains(words), "{words}: {said}");
    }
    let broken = tar(&[
        ("card.txt", text.replace("rate", "rates").as_bytes()),
        ("shapes.csv", &fixture("cards/shapes.csv")),
    ]);
    let places = problem(&send(&server, "fit", &broken, json!({})), 422, "workspace")["errors"].clone();
    assert!(places[0]["detail"].as_str().unwrap_or_default().starts_with("card.txt"), "{places}");
    for body in [
        json!({"model": {"archive": "%"}}),
        json!({"model": {"archive": "", "workspace": {}}}),
        json!({"model": {"workspace": {}, "file": "x"}}),
        json!({"model": {"workspace": {}, "mass": 1}}),
    ] {
        problem(&post(server.address, "/v1/fit", &body.to_string()), 422, "body");
    }
    assert_eq!(get(server.address, "/v1/health").status, 200);
}
