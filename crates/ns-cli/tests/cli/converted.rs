//! Tests of `nextstat convert`: nothing of a file is lost on the way to the same format.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::{fixture, run, shown};

fn result(args: &[&str]) -> Value {
    let output = run(args);
    assert!(output.status.success(), "{args:?}: {}", shown(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn read(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name);
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn names(document: &Value) -> Vec<&str> {
    let measurements = document["measurements"].as_array().unwrap();
    measurements.iter().map(|m| m["name"].as_str().unwrap()).collect()
}

/// Returns the digest of the model of a workspace, whose numbers may be written otherwise.
fn digest(document: &Value) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.json");
    fs::write(&path, document.to_string()).unwrap();
    let found = result(&["inspect", "-i", path.to_str().unwrap()])["model_digest"].clone();
    assert!(found.is_string(), "{found}");
    found
}

#[test]
fn workspaces_stay_as_they_are() {
    for name in ["simple_workspace.json", "several_measurements.json", "all_modifiers.json"] {
        let (file, original) = (fixture(name), read(name));
        let written = result(&["convert", "-i", &file, "--to", "pyhf"]);
        assert_eq!(names(&written), names(&original), "{name}");
        assert_eq!(digest(&written), digest(&original), "{name}");
    }
    let file = fixture("several_measurements.json");
    let original = read("several_measurements.json");
    let last = *names(&original).last().unwrap();
    let one = result(&["convert", "-i", &file, "--to", "pyhf", "--measurement", last]);
    assert_eq!(names(&one), [last]);
    // A patch is applied.
    let background = fixture("background_only.json");
    let patched =
        result(&["convert", "-i", &background, "--patch", &fixture("signal_patch.json"), "--to", "pyhf"]);
    let want = result(&["patch", "-i", &background, "--patch", &fixture("signal_patch.json")]);
    assert_eq!(digest(&patched), digest(&want));
}

#[test]
fn xml_with_constraints_of_its_own_is_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let convert = |input: &str, to: &str| {
        let output = run(&["convert", "-i", input, "--to", "xml", "-o", to]);
        assert!(output.status.success(), "{}", shown(&output));
    };
    convert(&fixture("simple_workspace.json"), &at("first"));
    // Poisson constraints that two samples share, and a constraint term.
    let change = |name: &str, from: &str, to: &str| {
        let path = folder.path().join("first").join(name);
        let text = fs::read_to_string(&path).unwrap();
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{name}");
        fs::write(&path, changed).unwrap();
    };
    change("SR.xml", "ConstraintType=\"Gaussian\"", "ConstraintType=\"Poisson\"");
    for scales in ["NormalizeByTheory=\"True\">", "NormalizeByTheory=\"False\">"] {
        change("SR.xml", scales, &format!("{scales}<StatError Activate=\"True\"/>"));
    }
    change(
        "combination.xml",
        "</Measurement>",
        "<ConstraintTerm Type=\"LogNormal\" RelativeUncertainty=\"0.2\">extrapolation</ConstraintTerm></Measurement>",
    );
    let first = at("first/combination.xml");
    convert(&first, &at("second"));
    let fits = [first, at("second/combination.xml")].map(|path| result(&["fit", "-i", &path]));
    let nll = fits.each_ref().map(|fit| fit["twice_nll"].as_f64().unwrap());
    assert!((nll[0] - nll[1]).abs() < 1e-9, "{nll:?}");
    assert_eq!(fits[0]["parameter_names"], fits[1]["parameter_names"]);
    let unknown = [
        "convert",
        "-i",
        &at("first/combination.xml"),
        "--to",
        "xml",
        "--measurement",
        "none",
        "-o",
        &at("third"),
    ];
    assert_eq!(run(&unknown).status.code(), Some(2));
    // Channels can be left out.
    let output = run(&[
        "convert",
        "-i",
        &at("first/combination.xml"),
        "--to",
        "xml",
        "--mask",
        "CR",
        "-o",
        &at("fourth"),
    ]);
    assert!(output.status.success(), "{}", shown(&output));
    assert!(fs::exists(at("fourth/SR.xml")).unwrap() && !fs::exists(at("fourth/CR.xml")).unwrap());
    result(&["inspect", "-i", &at("fourth/combination.xml")]);
    // The message speaks of the format that was asked for.
    let output = run(&["convert", "-i", &fixture("hs3/mixed.hs3.json"), "--to", "xml", "-o", &at("third")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(shown(&output).contains("cannot be written as XML of HistFactory"), "{}", shown(&output));
}

#[test]
fn a_factor_of_a_card_becomes_the_luminosity_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let card = folder.path().join("card.txt");
    let text = "imax 1\njmax *\nkmax *\nbin sr\nobservation 12\nbin sr sr sr\nprocess sig ttbar wj\nprocess 0 1 2\n\
                rate 3 6 4\nw2 rateParam sr wj 1 [0,2]\nw2 param 1 0.05\n";
    let convert = |lines: &str| {
        fs::write(&card, format!("{text}{lines}")).unwrap();
        run(&["convert", "-i", card.to_str().unwrap(), "--to", "pyhf"])
    };
    let output = convert("");
    assert!(output.status.success(), "{}", shown(&output));
    assert!(
        shown(&output).contains("the parameter 'w2' is called 'lumi' in the workspace"),
        "{}",
        shown(&output)
    );
    let written: Value = serde_json::from_slice(&output.stdout).unwrap();
    let all = written["measurements"][0]["config"]["parameters"].as_array().unwrap();
    assert!(all.iter().any(|p| p["name"] == "lumi" && p["sigmas"] == json!([0.05])), "{all:?}");
    let refused = convert("lumi lnN 1.1 - 1.1\n");
    assert_eq!(refused.status.code(), Some(2));
    assert!(shown(&refused).contains("'w2'") && shown(&refused).contains("'lumi'"), "{}", shown(&refused));
}

#[test]
fn what_is_no_model_is_named_before_it_is_read_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.json");
    let cases: [(&[u8], &str); 4] = [
        (b"", "the file is empty"),
        (b"PK\x03\x04....", "the file is a zip archive"),
        (b"\xff\xfe<\x00a\x00", "the file is XML in UTF-16"),
        (b"{\"General\": {}, \"Regions\": [], \"Samples\": []}", "nextstat build"),
    ];
    for (bytes, said) in cases {
        fs::write(&path, bytes).unwrap();
        let output = run(&["fit", "-i", path.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        assert!(shown(&output).contains(said), "{said}: {}", shown(&output));
    }
}
