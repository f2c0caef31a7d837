//! Parameters that become independent parameters.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use ns_translate::pyhf::{
    Decorrelate, DecorrelateBy, Edited, ModelOptions, Region, Rename, Workspace, WorkspaceError,
};
use serde_json::{Value, json};

fn workspace() -> Workspace {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let mut text: Value =
        serde_json::from_slice(&std::fs::read(folder.join("simple_workspace.json")).unwrap()).unwrap();
    let settings = json!({"name": "jet_scale", "inits": [0.1], "bounds": [[-3.0, 3.0]]});
    text["measurements"][0]["config"]["parameters"].as_array_mut().unwrap().push(settings);
    Workspace::from_value(text).unwrap()
}

fn apart(by: DecorrelateBy) -> Result<Edited, WorkspaceError> {
    workspace().decorrelate(&Decorrelate { modifier: "jet_scale".to_owned(), by })
}

fn regions(of: &[(&str, &[&str], &[&str])]) -> DecorrelateBy {
    let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let region = |(name, channels, samples): &(&str, &[&str], &[&str])| {
        ((*name).to_owned(), Region { channels: list(channels), samples: list(samples) })
    };
    DecorrelateBy::Regions(of.iter().map(region).collect())
}

/// Returns initial value and bounds of each parameter whose name begins with `jet`.
fn jets(edited: &Edited) -> Vec<(String, f64, (f64, f64))> {
    let model = edited.workspace.model(&ModelOptions::default()).unwrap();
    let own = model.parameters.iter().filter(|p| p.name.starts_with("jet"));
    own.map(|p| (p.name.clone(), p.init, p.bounds)).collect()
}

fn named(names: &[&str]) -> Vec<(String, f64, (f64, f64))> {
    names.iter().map(|name| ((*name).to_owned(), 0.1, (-3.0, 3.0))).collect()
}

#[test]
fn channels_samples_and_regions_get_parameters_with_the_old_settings() {
    let by_channel = apart(DecorrelateBy::Channel).unwrap();
    assert_eq!(jets(&by_channel), named(&["jet_scale_CR", "jet_scale_SR"]));
    let by_sample = apart(DecorrelateBy::Sample).unwrap();
    assert_eq!(jets(&by_sample), named(&["jet_scale_background", "jet_scale_signal"]));
    let by_region = apart(regions(&[("jet_low", &["CR"], &[])])).unwrap();
    assert_eq!(jets(&by_region), named(&["jet_low", "jet_scale"]));
    let by_region =
        apart(regions(&[("jet_s", &[], &["signal"]), ("jet_b", &["SR", "CR"], &["background"])])).unwrap();
    assert_eq!(jets(&by_region), named(&["jet_b", "jet_s"]));
    // Renaming is the inverse, apart from the settings that are there twice.
    let back = BTreeMap::from(["jet_low", "jet_scale"].map(|name| (name.to_owned(), "jet_scale".to_owned())));
    let edited = apart(regions(&[("jet_low", &["CR"], &[])])).unwrap().workspace;
    assert!(edited.rename(&Rename { modifiers: back, ..Rename::default() }).is_err());
}

#[test]
fn functions_use_the_parameter_of_their_place() {
    let function =
        |name: &str| json!({"name": name, "type": "function", "data": {"expression": "1 + 0.1*x"}});
    let channel = |name: &str| {
        json!({"name": name, "samples": [{"name": "s", "data": [5.0],
        "modifiers": [function("f"), {"name": "mu", "type": "normfactor", "data": null}]}]})
    };
    let text = json!({"version": "1.0.0", "channels": [channel("one"), channel("two")],
        "observations": [{"name": "one", "data": [5.0]}, {"name": "two", "data": [6.0]}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": [
            {"name": "x", "inits": [0.0], "bounds": [[-5.0, 5.0]], "auxdata": [0.0], "sigmas": [1.0]}]}}]});
    let workspace = Workspace::from_value(text).unwrap();
    let of = |modifier: &str| {
        workspace.decorrelate(&Decorrelate { modifier: modifier.to_owned(), by: DecorrelateBy::Channel })
    };
    let edited = of("x").unwrap();
    let model = edited.workspace.model(&ModelOptions::default()).unwrap();
    let names: Vec<&str> = model.parameters.iter().map(|p| p.name.as_str()).collect();
    assert!(names.contains(&"x_one") && names.contains(&"x_two") && !names.contains(&"x"), "{names:?}");
    assert!(model.parameters.iter().filter(|p| p.name != "mu").all(|p| p.constraint.aux().is_some()));
    // The parameter of interest becomes the first of the new ones, with a warning.
    let edited = of("mu").unwrap();
    let model = edited.workspace.model(&ModelOptions::default()).unwrap();
    assert_eq!(model.poi().map(|i| model.parameters[i].name.as_str()), Some("mu_one"));
    assert!(edited.warnings.iter().any(|warning| warning.message.contains("'mu_one'")));
}

#[test]
fn what_cannot_be_made_independent_is_told() {
    let told = |result: Result<Edited, WorkspaceError>| result.unwrap_err().to_string();
    let of = |modifier: &str, by| workspace().decorrelate(&Decorrelate { modifier: modifier.to_owned(), by });
    for (result, text) in [
        (of("jet_scael", DecorrelateBy::Channel), "jet_scale"),
        (of("lumi", DecorrelateBy::Channel), "always called 'lumi'"),
        (apart(regions(&[])), "no region"),
        (apart(regions(&[("a", &["XX"], &[])])), "XX"),
        (apart(regions(&[("a", &["CR"], &[]), ("b", &[], &["background"])])), "overlap"),
        (apart(regions(&[("signal_theory", &["CR"], &[])])), "signal_theory"),
        (apart(regions(&[("a", &["CR"], &["signal"])])), "does not act"),
    ] {
        let told = told(result);
        assert!(told.contains(text), "{told}");
    }
    let lonely = of("signal_theory", DecorrelateBy::Channel).unwrap();
    assert!(lonely.warnings.iter().any(|warning| warning.message.contains("one of these places only")));
}
