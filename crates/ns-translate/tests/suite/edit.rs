//! Tests of pruning, renaming, combining, sorting and masking workspaces.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::Path;

use ns_core::Model;
use ns_translate::pyhf::{
    ChannelSelection, Combine, Edited, Join, ModelOptions, Operation, Prune, Rename, Workspace,
    WorkspaceError,
};
use serde_json::{Value, json};

fn fixture(name: &str) -> Workspace {
    Workspace::from_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name))
        .unwrap()
}

fn simple() -> Workspace {
    fixture("simple_workspace.json")
}

fn model(workspace: &Workspace) -> Model {
    workspace.model(&ModelOptions::default()).unwrap()
}

fn parameters(workspace: &Workspace) -> Vec<String> {
    model(workspace).parameters.into_iter().map(|p| p.name).collect()
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|&n| n.to_owned()).collect()
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|&(a, b)| (a.to_owned(), b.to_owned())).collect()
}

fn changes(edited: &Edited) -> Vec<String> {
    edited.changes.iter().map(ToString::to_string).collect()
}

fn warnings(edited: &Edited) -> String {
    edited.warnings.iter().map(|w| w.paragraph() + "\n").collect()
}

/// Returns the messages of an operation that is refused.
fn refused(result: Result<Edited, WorkspaceError>) -> String {
    let error = result.unwrap_err();
    assert!(matches!(error, WorkspaceError::CannotEdit { .. }), "{error}");
    assert!(!error.problems().is_empty());
    error.to_string()
}

/// Makes a workspace of one channel; `samples` are triples of name, yields and modifiers.
fn workspace(channel: &str, samples: &[(&str, &[f64], Value)], measurement: Value) -> Workspace {
    let samples: Vec<Value> =
        samples.iter().map(|(n, d, m)| json!({"name": n, "data": d, "modifiers": m})).collect();
    let n = samples[0]["data"].as_array().unwrap().len();
    Workspace::from_value(json!({
        "channels": [{"name": channel, "samples": samples}],
        "observations": [{"name": channel, "data": vec![5.0; n]}],
        "measurements": [measurement],
        "version": "1.0.0",
    }))
    .unwrap()
}

fn measurement(poi: &str, settings: Value) -> Value {
    json!({"name": "fit", "config": {"poi": poi, "parameters": settings}})
}

fn mu() -> Value {
    json!([{"name": "mu", "type": "normfactor", "data": null}])
}

// --- Pruning -----------------------------------------------------------------------------

#[test]
fn a_pruned_channel_takes_its_observation_along() {
    let edited = simple().prune(&Prune { channels: strings(&["CR"]), ..Prune::default() }).unwrap();
    assert_eq!(changes(&edited), ["/channels/1: channel 'CR' with its observation"]);
    let value = edited.workspace.to_value();
    assert_eq!(value["observations"].as_array().unwrap().len(), 1);
    assert!(!parameters(&edited.workspace).contains(&"extrapolation".to_owned()));
    // If the result is written and read again, it is the same workspace.
    assert_eq!(Workspace::from_value(value).unwrap(), edited.workspace);
}

#[test]
fn a_pruned_modifier_takes_settings_and_parameter_of_interest_along() {
    let edited = simple().prune(&Prune { modifiers: strings(&["mu", "lumi"]), ..Prune::default() }).unwrap();
    let measurement = &edited.workspace.to_value()["measurements"][0];
    assert_eq!(measurement["config"], json!({"poi": "", "parameters": []}));
    let all = changes(&edited).join("\n");
    for part in
        ["normfactor 'mu' on 1 sample", "lumi 'lumi' on", "settings of 'mu'", "parameter of interest 'mu'"]
    {
        assert!(all.contains(part), "{part} is not in {all}");
    }
    assert!(warnings(&edited).contains("has none"), "{}", warnings(&edited));
    assert_eq!(model(&edited.workspace).poi(), None);
}

#[test]
fn a_pruned_signal_can_be_patched_in_again() {
    let edited = simple().prune(&Prune { samples: strings(&["signal"]), ..Prune::default() }).unwrap();
    let before = simple().to_value();
    assert_eq!(edited.workspace.to_value()["measurements"], before["measurements"]);
    let said = warnings(&edited);
    assert!(said.contains("keeps the parameter of interest 'mu'") && said.contains("'lumi', 'mu'"), "{said}");
    assert_eq!(model(&edited.workspace).poi(), None);
}

#[test]
fn modifiers_go_by_type() {
    let prune = Prune { modifier_types: strings(&["histosys", "staterror"]), ..Prune::default() };
    let edited = simple().prune(&prune).unwrap();
    let left = edited.workspace.summary().modifier_counts;
    assert!(
        !left.contains_key("histosys") && !left.contains_key("staterror") && left.contains_key("normsys")
    );
    assert!(changes(&edited)[0].contains("histosys 'jet_scale' on 3 samples, here first"));
}

#[test]
fn every_unknown_name_is_told_with_a_close_one() {
    let message = refused(simple().prune(&Prune {
        channels: strings(&["SRR"]),
        samples: strings(&["nothing like it"]),
        modifiers: strings(&["alpha_jet_scale"]),
        modifier_types: strings(&["normsyst", "shapesys"]),
        measurements: strings(&["bumb"]),
        ..Prune::default()
    }));
    for part in [
        "cannot prune the workspace, 6 errors:",
        "No channel is called 'SRR'. Did you mean 'SR'?",
        "No sample is called 'nothing like it'. The samples are: 'background', 'signal'.",
        "Did you mean 'jet_scale'?",
        "There is no modifier type 'normsyst'. Did you mean 'normsys'?",
        "No modifier is of type shapesys. The types in use are: ",
        "error at /measurements: No measurement is called 'bumb'. Did you mean 'bump'?",
    ] {
        assert!(message.contains(part), "{part} is not in {message}");
    }
}

#[test]
fn nothing_may_end_up_empty() {
    let samples = Prune { samples: strings(&["background"]), ..Prune::default() };
    let message = refused(simple().prune(&samples));
    assert!(message.contains("/channels/1: Channel 'CR' would have no sample left."), "{message}");
    // If the channel without a sample is pruned too, there is no error.
    assert!(simple().prune(&Prune { channels: strings(&["CR"]), ..samples }).is_ok());
    let message = refused(simple().prune(&Prune { channels: strings(&["CR", "SR"]), ..Prune::default() }));
    assert!(message.contains("/channels: All channels are to be pruned."), "{message}");
    let message = refused(simple().prune(&Prune { measurements: strings(&["bump"]), ..Prune::default() }));
    assert!(message.contains("All measurements"), "{message}");
    let all = ["normfactor", "lumi", "normsys", "histosys", "staterror"];
    // A workspace without modifiers is a model without parameters.
    let bare = simple().prune(&Prune { modifier_types: strings(&all), ..Prune::default() }).unwrap();
    assert!(bare.workspace.model(&ModelOptions::default()).unwrap().parameters.is_empty());
}

#[test]
fn a_faulty_part_can_be_cut_out() {
    let mut value = simple().to_value();
    value["channels"][1]["samples"][0]["data"] = json!([1.0]);
    let broken = Workspace::from_value(value).unwrap();
    assert!(broken.model(&ModelOptions::default()).is_err());
    let edited = broken.prune(&Prune { channels: strings(&["CR"]), ..Prune::default() }).unwrap();
    assert!(edited.warnings.is_empty() && edited.workspace.model(&ModelOptions::default()).is_ok());
    let edited = broken.prune(&Prune { modifiers: strings(&["signal_theory"]), ..Prune::default() }).unwrap();
    assert!(warnings(&edited).contains("still has errors"), "{}", warnings(&edited));
}

/// Returns a workspace with small and large systematics. The name of each says what happens to it if both
/// thresholds are 1 %.
fn small_and_large() -> Workspace {
    let normsys =
        |name: &str, lo: f64, hi: f64| json!({"name": name, "type": "normsys", "data": {"lo": lo, "hi": hi}});
    let histosys = |name: &str, lo: [f64; 2], hi: [f64; 2]| json!({"name": name, "type": "histosys", "data": {"lo_data": lo, "hi_data": hi}});
    workspace(
        "SR",
        &[
            ("signal", &[5.0, 5.0], mu()),
            (
                "top",
                &[100.0, 200.0],
                json!([
                    normsys("goes", 0.992, 1.008),
                    normsys("stays, one-sided", 1.0, 1.05),
                    histosys("goes with both", [99.5, 199.5], [100.4, 200.4]),
                    histosys("stays by shape", [102.0, 198.0], [100.0, 200.0]),
                    histosys("stays by norm", [102.0, 204.0], [100.0, 200.0]),
                    normsys("stays elsewhere", 0.999, 1.001),
                ]),
            ),
            ("W", &[3.0, 0.0], json!([normsys("stays elsewhere", 0.9, 1.1)])),
        ],
        measurement("mu", json!([{"name": "goes", "fixed": true}])),
    )
}

#[test]
fn small_systematics_go_sample_by_sample() {
    let prune = Prune { norm_threshold: Some(0.01), shape_threshold: Some(0.01), ..Prune::default() };
    let edited = small_and_large().prune(&prune).unwrap();
    assert_eq!(
        changes(&edited),
        [
            "/channels/0/samples/1/modifiers/0: channel 'SR', sample 'top': normsys 'goes' (normalisation 0.8 %)",
            "/channels/0/samples/1/modifiers/2: channel 'SR', sample 'top': histosys 'goes with both' (shape \
             0.167 %, normalisation 0.333 %)",
            "/channels/0/samples/1/modifiers/5: channel 'SR', sample 'top': normsys 'stays elsewhere' \
             (normalisation 0.1 %)",
            "by effect: 2 of 4 normsys at or below 1 %; 1 of 3 histosys at or below 1 % in shape and 1 % in \
             normalisation",
            "/measurements/0/config/parameters/0: settings of 'goes' in measurement 'fit'",
        ]
    );
    let left: Vec<String> = parameters(&edited.workspace);
    assert_eq!(left, ["stays by norm", "stays by shape", "mu", "stays elsewhere", "stays, one-sided"]);
}

#[test]
fn a_norm_threshold_alone_leaves_every_histosys() {
    let edited = small_and_large().prune(&Prune { norm_threshold: Some(10.0), ..Prune::default() }).unwrap();
    let counts = edited.workspace.summary().modifier_counts;
    assert_eq!((counts.get("normsys"), counts["histosys"]), (None, 3));
}

#[test]
fn thresholds_must_make_sense() {
    for (norm, shape, said) in [
        (Some(-0.1), None, "The norm threshold is -0.1."),
        (Some(0.1), Some(f64::NAN), "The shape threshold is NaN."),
        (None, Some(0.1), "A shape threshold needs a norm threshold"),
    ] {
        let prune = Prune { norm_threshold: norm, shape_threshold: shape, ..Prune::default() };
        let message = refused(simple().prune(&prune));
        assert!(message.contains(said), "{message}");
    }
}

#[test]
fn a_parameter_of_interest_is_never_too_small() {
    let tiny = json!([{"name": "mu", "type": "normsys", "data": {"lo": 1.0, "hi": 1.0}}]);
    let input = workspace("SR", &[("signal", &[5.0], tiny)], measurement("mu", json!([])));
    let edited = input.prune(&Prune { norm_threshold: Some(1.0), ..Prune::default() }).unwrap();
    assert_eq!(edited.workspace, input);
}

// --- Renaming ----------------------------------------------------------------------------

#[test]
fn everything_follows_a_new_name() {
    let edited = simple()
        .rename(&Rename {
            channels: map(&[("SR", "CR"), ("CR", "SR")]),
            samples: map(&[("background", "ttbar")]),
            modifiers: map(&[("mu", "mu_ttH")]),
            measurements: map(&[("bump", "ttH")]),
        })
        .unwrap();
    let before = serde_json::to_string(&simple().to_value()).unwrap();
    let expected = before
        .replace("\"SR\"", "\"swap\"")
        .replace("\"CR\"", "\"SR\"")
        .replace("\"swap\"", "\"CR\"")
        .replace("\"background\"", "\"ttbar\"")
        .replace("\"mu\"", "\"mu_ttH\"")
        .replace("\"bump\"", "\"ttH\"");
    assert_eq!(serde_json::to_string(&edited.workspace.to_value()).unwrap(), expected);
    assert_eq!(edited.changes.len(), 5);
    assert!(edited.warnings.is_empty());
}

#[test]
fn names_that_are_taken_or_cannot_be() {
    let message = refused(simple().rename(&Rename {
        channels: map(&[("SR", "CR")]),
        samples: map(&[("signal", "background"), ("backround", "x")]),
        modifiers: map(&[("lumi", "luminosity"), ("jet_scale", "")]),
        measurements: BTreeMap::new(),
    }));
    for part in [
        "cannot rename in the workspace, 5 errors:",
        "/channels/1/name: The channels 'SR' and 'CR' would both be called 'CR'.",
        "The samples 'signal' and 'background' of channel 'SR' would both be called 'background'.",
        "No sample is called 'backround'. Did you mean 'background'?",
        "A modifier of type lumi is always called 'lumi'.",
        "The new name of modifier 'jet_scale' is empty.",
    ] {
        assert!(message.contains(part), "{part} is not in {message}");
    }
}

#[test]
fn modifiers_that_get_one_name_share_a_parameter() {
    let rename = Rename { modifiers: map(&[("signal_theory", "jet_scale")]), ..Rename::default() };
    let edited = simple().rename(&rename).unwrap();
    let said = warnings(&edited);
    assert!(said.contains("2 modifiers that were independent now share the parameter 'jet_scale'"), "{said}");
    assert_eq!(parameters(&edited.workspace).len(), parameters(&simple()).len() - 1);
    // Modifiers that cannot share a parameter must not get the same name.
    let rename = Rename { modifiers: map(&[("stat_SR", "jet_scale")]), ..Rename::default() };
    let error = simple().rename(&rename).unwrap_err();
    assert!(
        matches!(&error, WorkspaceError::InvalidAfterEdit { operation: Operation::Rename, .. }),
        "{error}"
    );
    let rename = Rename { modifiers: map(&[("background_norm", "mu")]), ..Rename::default() };
    assert!(simple().rename(&rename).is_ok());
}

#[test]
fn settings_of_one_parameter_cannot_come_from_two() {
    let file = fixture("several_measurements.json");
    let rename = Rename { modifiers: map(&[("acceptance", "shape_x")]), ..Rename::default() };
    assert!(file.rename(&rename).is_ok());
    let input = workspace(
        "SR",
        &[(
            "signal",
            &[5.0],
            json!([
            {"name": "a", "type": "normfactor", "data": null}, {"name": "b", "type": "normfactor", "data": null}]),
        )],
        measurement("a", json!([{"name": "a", "inits": [2.0]}, {"name": "b", "inits": [3.0]}])),
    );
    let message = refused(input.rename(&Rename { modifiers: map(&[("a", "b")]), ..Rename::default() }));
    assert!(message.contains("settings of 'a' and of 'b', which would both be those of 'b'"), "{message}");
}

// --- Combining ---------------------------------------------------------------------------

fn combined(
    left: &Workspace,
    right: &Workspace,
    join: Join,
    merge_channels: bool,
) -> Result<Edited, WorkspaceError> {
    left.combine(right, Combine { join, merge_channels })
}

fn split() -> (Workspace, Workspace) {
    let part = |other: &str| {
        simple().prune(&Prune { channels: strings(&[other]), ..Prune::default() }).unwrap().workspace
    };
    (part("CR"), part("SR"))
}

#[test]
fn parts_make_the_whole_again() {
    let (left, right) = split();
    let edited = combined(&left, &right, Join::Outer, false).unwrap();
    assert_eq!(edited.workspace, simple());
    assert_eq!(
        changes(&edited),
        [
            "/channels/0: channel 'CR' from the right workspace",
            "2 parameters are shared: 'background_norm', 'jet_scale'."
        ]
    );
    assert!(edited.warnings.is_empty(), "{}", warnings(&edited));
    assert_eq!(model(&edited.workspace).digest(), model(&simple()).digest());
}

#[test]
fn join_none_lists_every_conflict() {
    let message = refused(combined(&simple(), &simple(), Join::None, false));
    for part in [
        "cannot combine the workspaces, 5 errors:",
        "Channel 'SR' is in both workspaces, at /channels/0 of the left one.",
        "Channel 'CR' is in both",
        "Observation 'SR' is in both",
        "Observation 'CR' is in both",
        "Measurement 'bump' is in both",
        "Rename one of the two, or choose another join.",
    ] {
        assert!(message.contains(part), "{part} is not in {message}");
    }
}

#[test]
fn join_outer_takes_what_is_equal_once() {
    let edited = combined(&simple(), &simple(), Join::Outer, false).unwrap();
    assert_eq!(edited.workspace, simple());
}

#[test]
fn join_outer_refuses_what_differs() {
    let mut other = simple().to_value();
    other["channels"][0]["samples"][1]["data"][0] = json!(1234.0);
    other["observations"][1]["data"][0] = json!(7.0);
    other["measurements"][0]["config"]["poi"] = json!("background_norm");
    other["measurements"][0]["config"]["parameters"][0]["sigmas"] = json!([0.5]);
    let other = Workspace::from_value(other).unwrap();
    let message = refused(combined(&simple(), &other, Join::Outer, false));
    for part in [
        "4 errors:",
        "/channels/0: Channel 'SR' is in both workspaces, at /channels/0 of the left one, and the two differ in \
         the samples: 'background'.",
        "Observation 'CR' is in both workspaces, at /observations/1 of the left one, and the two differ.",
        "/measurements/0/config/poi: Measurement 'bump' has the parameter of interest 'mu' in the left",
        "/measurements/0/config/parameters/0: Measurement 'bump' has settings of 'lumi' in both",
    ] {
        assert!(message.contains(part), "{part} is not in {message}");
    }
    // A left or right outer join takes the items of one side. Warnings list the items of the other side that
    // are left out.
    for (join, expected, kept) in
        [(Join::LeftOuter, simple(), "right"), (Join::RightOuter, other.clone(), "left")]
    {
        let edited = combined(&simple(), &other, join, false).unwrap();
        assert_eq!(edited.workspace, expected);
        let said = warnings(&edited);
        assert_eq!(edited.warnings.len(), 3, "{said}");
        assert!(said.contains(&format!("Channel 'SR' of the {kept} workspace is not taken")), "{said}");
    }
}

#[test]
fn channels_merge_sample_by_sample() {
    let prune = |sample: &str| Prune { samples: strings(&[sample]), ..Prune::default() };
    let only_sr = split().0;
    let background = only_sr.prune(&prune("signal")).unwrap().workspace;
    let signal = only_sr.prune(&prune("background")).unwrap().workspace;
    for (join, left, right) in [
        (Join::Outer, &signal, &background),
        (Join::LeftOuter, &signal, &background),
        (Join::RightOuter, &background, &signal),
    ] {
        let edited = combined(left, right, join, true).unwrap();
        assert_eq!(edited.workspace, only_sr);
        let said = changes(&edited).join("\n");
        assert!(said.contains("sample 'background' of channel 'SR' from the"), "{said}");
    }
    assert!(refused(combined(&signal, &background, Join::Outer, false)).contains("Channel 'SR' is in both"));
    assert!(
        refused(combined(&signal, &background, Join::None, true)).contains("cannot be merged with join none")
    );
}

#[test]
fn merged_samples_that_differ_are_never_dropped_in_silence() {
    let mut other = simple().to_value();
    other["channels"][0]["samples"][0]["data"][0] = json!(9.0);
    let other = Workspace::from_value(other).unwrap();
    let message = refused(combined(&simple(), &other, Join::Outer, true));
    assert!(message.contains("Sample 'signal' of channel 'SR' is in both workspaces, at"), "{message}");
    let edited = combined(&simple(), &other, Join::LeftOuter, true).unwrap();
    assert!(
        warnings(&edited).contains("Sample 'signal' of channel 'SR' of the right workspace is not taken")
    );
}

#[test]
fn names_that_cannot_be_shared_stop_a_combination() {
    let part = |channel: &str| {
        workspace(
            channel,
            &[
                ("b", &[5.0], json!([{"name": "fakes", "type": "shapesys", "data": [1.0]}])),
                ("s", &[1.0], mu()),
            ],
            measurement("mu", json!([])),
        )
    };
    let error = combined(&part("A"), &part("B"), Join::Outer, false).unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with("the combined workspace would not be valid, 1 error:"), "{message}");
    assert!(message.contains("'fakes'"), "{message}");
}

#[test]
fn a_measurement_that_lost_its_sense_is_told() {
    let plain = workspace(
        "plain",
        &[("s", &[1.0], mu())],
        json!({"name": "own", "config": {"poi": "mu", "parameters": []}}),
    );
    let edited = combined(&simple(), &plain, Join::None, false).unwrap();
    let said = warnings(&edited);
    assert!(
        said.contains("Measurement 'own' of the result has no model.") && said.contains("lumi"),
        "{said}"
    );
}

#[test]
fn joins_have_names() {
    for join in Join::ALL {
        assert_eq!(join.to_string().parse(), Ok(join));
        assert_eq!(join.to_string().replace(' ', "-").parse(), Ok(join));
    }
    assert!("inner".parse::<Join>().unwrap_err().contains("left-outer"));
}

// --- Sorting -----------------------------------------------------------------------------

#[test]
fn sorting_changes_the_order_and_nothing_else() {
    for name in
        ["simple_workspace.json", "all_modifiers.json", "several_measurements.json", "shared_names.json"]
    {
        let (before, after) = (fixture(name), fixture(name).sorted());
        let measurement = Some(before.measurement_names()[0].to_owned());
        let options = ModelOptions { measurement, ..ModelOptions::default() };
        let names = |w: &Workspace| w.model(&options).unwrap().parameters;
        assert_eq!(names(&before), names(&after), "{name}");
        assert!(after.channel_names().is_sorted() && after.measurement_names().is_sorted());
        assert_eq!(after.sorted(), after);
    }
}

// --- Masking -----------------------------------------------------------------------------

fn keep(names: &[&str]) -> ChannelSelection {
    ChannelSelection { keep: Some(strings(names)), mask: Vec::new() }
}

fn mask(names: &[&str]) -> ChannelSelection {
    ChannelSelection { keep: None, mask: strings(names) }
}

#[test]
fn a_mask_leaves_the_model_that_pruning_leaves() {
    let pruned = split().0;
    for selection in [keep(&["SR"]), mask(&["CR"])] {
        let masked = simple().select_channels(&selection).unwrap();
        assert_eq!(model(&masked), model(&pruned));
        assert_ne!(model(&masked).digest(), model(&simple()).digest());
    }
    assert_eq!(simple().select_channels(&ChannelSelection::default()).unwrap(), simple());
    assert_eq!(simple().select_channels(&keep(&["CR", "SR"])).unwrap(), simple());
}

#[test]
fn a_masked_parameter_of_interest_is_a_warning_and_nothing_else_is() {
    let masked = model(&simple().select_channels(&keep(&["CR"])).unwrap());
    assert_eq!(masked.poi(), None);
    let [warning] = &masked.warnings[..] else { panic!("{:?}", masked.warnings) };
    assert!(warning.contains("The parameter of interest 'mu'"), "{warning}");
}

#[test]
fn masks_name_channels_that_exist_and_leave_some() {
    let refused = |selection| {
        let error = simple().select_channels(&selection).unwrap_err();
        assert!(matches!(error, WorkspaceError::CannotEdit { operation: Operation::SelectChannels, .. }));
        error.to_string()
    };
    assert!(refused(keep(&["sr"])).contains("No channel is called 'sr'. Did you mean 'SR'?"));
    assert!(refused(mask(&["nowhere"])).contains("The channels are: 'CR', 'SR'."));
    for selection in [mask(&["SR", "CR"]), keep(&[])] {
        assert!(refused(selection).contains("No channel is left. Keep at least one."));
    }
    let both = ChannelSelection { keep: Some(strings(&["SR"])), mask: strings(&["SR"]) };
    assert!(refused(both).contains("Channel 'SR' is both to be kept and to be left out."));
}

#[test]
fn messages_after_a_mask_point_into_the_file() {
    let mut value = simple().to_value();
    value["channels"][1]["samples"][0]["modifiers"][1]["data"]["lo"] = json!(-1.0);
    let broken = Workspace::from_value(value).unwrap();
    // The model can be made if the channel with the error is left out.
    assert!(broken.select_channels(&mask(&["CR"])).unwrap().model(&ModelOptions::default()).is_ok());
    let error = broken.select_channels(&mask(&["SR"])).unwrap().model(&ModelOptions::default()).unwrap_err();
    assert!(error.to_string().contains("/channels/1/samples/0/modifiers/1/data/lo"), "{error}");
}

#[test]
fn a_staterror_over_channels_finds_its_bins_after_a_mask() {
    let file = fixture("shared_names.json");
    let masked = file.select_channels(&keep(&["three_bins"])).unwrap();
    let pruned = file.prune(&Prune { channels: strings(&["two_bins"]), ..Prune::default() }).unwrap();
    assert_eq!(model(&masked).channels, model(&pruned.workspace).channels);
}
