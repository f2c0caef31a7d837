//! Workspaces built from configuration files, and the messages of broken configurations.

use std::path::{Path, PathBuf};

use ns_translate::build::{BuildError, Built, ConfigOptions, Pruning, build_config};
use ns_translate::pyhf::{ModelOptions, Workspace};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/build")
}

fn built(path: &Path, options: ConfigOptions) -> Result<Built, BuildError> {
    build_config(path, options)
}

#[test]
fn histograms_and_columns_of_the_same_events_give_the_same_workspace() {
    let of = |name: &str| built(&folder().join(name), ConfigOptions::default()).unwrap();
    let (histograms, ntuples) = (of("histograms.yml"), of("ntuples.yml"));
    let names = |built: &Built| {
        let workspace = Workspace::from_value(built.workspace.clone()).unwrap();
        let model = workspace.model(&ModelOptions::default()).unwrap();
        model.parameters.iter().map(|p| p.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&histograms), names(&ntuples));
    assert!(names(&histograms).contains(&"weights".to_owned()));
    assert_eq!(histograms.systematics.len(), 8);
    assert!(histograms.systematics.iter().any(|row| row.smoothed));
    let (a, b) = (numbers(&histograms.workspace), numbers(&ntuples.workspace));
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(&b) {
        assert!((a - b).abs() <= 1e-12 * a.abs().max(1.0), "{a} {b}");
    }
}

#[test]
fn trees_give_what_columns_in_parquet_give() {
    let scratch = tempfile::tempdir().unwrap();
    std::fs::copy(folder().join("../root/tree_events.root"), scratch.path().join("events.root")).unwrap();
    let text = std::fs::read_to_string(folder().join("ntuples.yml")).unwrap();
    let text = text.replace("{SamplePath}.parquet", "events.root").replace("SamplePath:", "Tree:");
    let path = scratch.path().join("trees.yml");
    std::fs::write(&path, &text).unwrap();
    let trees = built(&path, ConfigOptions::default()).unwrap();
    let parquet = built(&folder().join("ntuples.yml"), ConfigOptions::default()).unwrap();
    assert_eq!(trees.workspace, parquet.workspace);
    assert_eq!(trees.templates.len(), trees.systematics.iter().filter(|row| row.shape.is_some()).count());
    std::fs::write(&path, text.replace("Variable: pt\n", "Variable: ptt\n")).unwrap();
    let said = built(&path, ConfigOptions::default()).unwrap_err().to_string();
    assert!(said.contains("the tree 'data' has no branch 'ptt'; the closest that exists is 'pt'"), "{said}");
}

#[test]
fn bins_are_merged_and_left_out() {
    let scratch = tempfile::tempdir().unwrap();
    std::fs::copy(folder().join("histograms.root"), scratch.path().join("histograms.root")).unwrap();
    let text = std::fs::read_to_string(folder().join("histograms.yml")).unwrap();
    let path = scratch.path().join("histograms.yml");
    let with = |rebin: &str| {
        std::fs::write(&path, text.replace("RegionPath: SR}", &format!("RegionPath: SR, Rebin: {rebin}}}")))
            .unwrap();
        built(&path, ConfigOptions::default())
    };
    let bins = |built: Built| -> Vec<f64> {
        serde_json::from_value(built.workspace["observations"][0]["data"].clone()).unwrap()
    };
    let all = bins(with("{Steps: 1}").unwrap());
    let n = all.len();
    assert!(n >= 3, "{all:?}");
    assert_eq!(bins(with("{LowerIndex: 1}").unwrap()), all[1..]);
    assert_eq!(bins(with("{UpperIndex: -1}").unwrap()), all[..n - 1]);
    let pairs: Vec<f64> = all.chunks_exact(2).map(|pair| pair.iter().sum()).collect();
    assert_eq!(bins(with("{Steps: 2}").unwrap()), pairs);
    for (wrong, words) in
        [("{Steps: 0}", "not positive"), ("{LowerIndex: 0.5}", "whole"), ("{LowerIndex: 100}", "no bin")]
    {
        let said = with(wrong).unwrap_err().to_string();
        assert!(said.contains(words), "{said}");
    }
}

/// All numbers of a document, in its order.
fn numbers(value: &serde_json::Value) -> Vec<f64> {
    match value {
        serde_json::Value::Number(x) => x.as_f64().into_iter().collect(),
        serde_json::Value::Array(items) => items.iter().flat_map(numbers).collect(),
        serde_json::Value::Object(items) => items.values().flat_map(numbers).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn options_prune_small_effects_and_their_settings() {
    let pruning = Pruning { normalisation: Some(0.06), shape: Some(0.5), large: None };
    let options = ConfigOptions { pruning, mc_threshold: Some(1.0), mc_constraint: None };
    let built = built(&folder().join("histograms.yml"), options).unwrap();
    let text = built.workspace.to_string();
    assert!(!text.contains("Luminosity") && !text.contains("staterror"), "{text}");
    assert!(text.contains("weights") && text.contains("mu"), "{text}");
}

/// A working configuration, of which each case breaks one part.
const CONFIG: &str = r#"General:
  Measurement: m
  POI: mu
  InputPath: "histograms.root:{RegionPath}/{SamplePath}/{VariationPath}"
  HistogramFolder: h
  VariationPath: nominal
Regions:
  - Name: SR
    RegionPath: SR
Samples:
  - Name: Data
    SamplePath: data
    Data: True
  - Name: Signal
    SamplePath: signal
  - Name: Background
    SamplePath: background
Systematics:
  - Name: Model
    Type: NormPlusShape
    Samples: Background
    Up: {VariationPath: modelling}
    Down: {Symmetrize: True}
NormFactors:
  - Name: mu
    Samples: Signal
    Nominal: 1
    Bounds: [0, 10]
"#;

/// The same for columns.
const NTUPLES: &str = r#"General: {Measurement: m, InputPath: "{SamplePath}.parquet", HistogramFolder: h}
Regions:
  - {Name: SR, Variable: pt, Binning: [200, 400, 600], Filter: charge > 0}
Samples:
  - {Name: Data, SamplePath: data, Data: True}
  - {Name: Signal, SamplePath: signal, Weight: weight}
NormFactors:
  - {Name: mu, Samples: Signal}
"#;

/// Name of a case, what is replaced in the configuration above, and by what.
const CASES: &[(&str, &str, &str)] = &[
    ("not_yaml", "Regions:", "Regions: [\nX: {"),
    ("unknown_section", "Systematics:", "Systematic:"),
    ("unknown_key", "    SamplePath: signal", "    SamplPath: signal"),
    ("unknown_key_without_a_neighbour", "    SamplePath: signal", "    Colour: red"),
    ("key_twice", "  POI: mu", "  POI: mu\n  POI: mu"),
    ("no_measurement", "  Measurement: m\n", ""),
    ("group_is_a_text", "Regions:\n  - Name: SR\n    RegionPath: SR", "Regions: SR"),
    ("section_of_texts", "  - Name: SR\n    RegionPath: SR", "  - SR"),
    ("no_flag", "Data: True", "Data: maybe"),
    ("number_in_quotes", "[0, 10]", "[\"0\", 10]"),
    ("bounds_of_three", "[0, 10]", "[0, 1, 10]"),
    ("bounds_the_wrong_way", "[0, 10]", "[10, 0]"),
    ("unknown_poi", "POI: mu", "POI: mue"),
    ("unknown_sample", "Samples: Background", "Samples: Backgrund"),
    ("unknown_region", "    Samples: Signal", "    Samples: Signal\n    Regions: [SR, CR]"),
    ("two_samples_of_one_name", "Name: Signal", "Name: Background"),
    ("no_data", "    Data: True\n", ""),
    ("two_data", "SamplePath: signal", "SamplePath: signal\n    Data: yes"),
    ("unknown_type", "NormPlusShape", "Shape"),
    ("no_down", "    Down: {Symmetrize: True}\n", ""),
    ("up_is_symmetrised", "Up: {VariationPath: modelling}", "Up: {Symmetrize: True}"),
    ("no_normalization", "NormPlusShape", "Normalization"),
    (
        "normalization_below_zero",
        "Type: NormPlusShape\n    Samples: Background\n    Up: {VariationPath: modelling}\n    Down: {Symmetrize: True}",
        "Type: Normalization\n    Up: {Normalization: 0.5}\n    Down: {Normalization: -1.5}",
    ),
    ("unknown_smoothing", "    Up:", "    Smoothing: {Algorithm: TTBARRES}\n    Up:"),
    ("no_file", "histograms.root", "missing.root"),
    ("no_root_file", "histograms.root", "data.parquet"),
    ("no_histogram", "VariationPath: modelling", "VariationPath: modeling"),
    ("no_object", "histograms.root:{RegionPath}/{SamplePath}/{VariationPath}", "histograms.root"),
    ("no_region_path", "    RegionPath: SR\n", ""),
    ("no_sample_path", "    SamplePath: signal\n", ""),
    ("several_files", "SamplePath: signal", "SamplePath: [signal, data]"),
    ("other_bins", "VariationPath: modelling", "RegionPath: CR, VariationPath: modelling"),
    (
        "unknown_fixed",
        "  VariationPath: nominal",
        "  VariationPath: nominal\n  Fixed: [{Name: nu, Value: 1}]",
    ),
    (
        "fixed_elsewhere",
        "  VariationPath: nominal",
        "  VariationPath: nominal\n  Fixed: [{Name: mu, Value: 2}]",
    ),
    (
        "two_parameters_of_one_name",
        "    Down: {Symmetrize: True}",
        "    Down: {Symmetrize: True}\n  - Name: Other\n    ModifierName: Model\n    Type: Normalization\n    Up: {Normalization: 0.1}\n    Down: {Normalization: -0.1}",
    ),
    ("no_binning", "RegionPath: SR", "RegionPath: SR\n    Variable: pt"),
    ("binning_goes_back", "RegionPath: SR", "RegionPath: SR\n    Variable: pt\n    Binning: [0, 2, 1]"),
];

const COLUMN_CASES: &[(&str, &str, &str)] = &[
    ("no_such_column", "Weight: weight", "Weight: weigth"),
    ("broken_expression", "charge > 0", "charge >"),
    ("python_precedence", "charge > 0", "charge > 0 & pt < 500"),
    ("no_such_file", "{SamplePath}.parquet", "{SamplePath}*.csv"),
    ("no_table", "{SamplePath}.parquet", "{SamplePath}.yml"),
    ("tree_of_root", "{SamplePath}.parquet", "histograms.root"),
    ("weight_is_not_finite", "Weight: weight", "Weight: weight/0"),
];

#[test]
fn each_broken_configuration_gets_its_message() {
    let scratch = tempfile::tempdir().unwrap();
    for name in ["histograms.root", "data.parquet", "signal.parquet"] {
        std::fs::copy(folder().join(name), scratch.path().join(name)).unwrap();
    }
    std::fs::write(scratch.path().join("data.yml"), "a: 1").unwrap();
    std::fs::write(scratch.path().join("signal.yml"), "a: 1").unwrap();
    let path = scratch.path().join("config.yml");
    let mut messages = String::new();
    let all = CASES.iter().map(|case| (CONFIG, case));
    for (base, (name, from, to)) in all.chain(COLUMN_CASES.iter().map(|case| (NTUPLES, case))) {
        let text = base.replacen(from, to, 1);
        assert_ne!(text, base, "{name} changes nothing");
        std::fs::write(&path, text).unwrap();
        let message = match built(&path, ConfigOptions::default()) {
            Ok(built) => built.warnings.iter().map(|w| w.to_string() + "\n").collect(),
            Err(error) => error.to_string(),
        };
        let message = message.replace(&format!("{}/", scratch.path().display()), "");
        assert!(!message.is_empty(), "{name}: nothing was found");
        messages.push_str(&format!("== {name}\n{}\n\n", message.trim_end()));
    }
    insta::assert_snapshot!(messages);
}

#[test]
fn the_configurations_that_are_broken_work_otherwise() {
    for text in [CONFIG, NTUPLES] {
        let scratch = tempfile::tempdir().unwrap();
        for name in ["histograms.root", "data.parquet", "signal.parquet"] {
            std::fs::copy(folder().join(name), scratch.path().join(name)).unwrap();
        }
        let path = scratch.path().join("config.yml");
        std::fs::write(&path, text).unwrap();
        built(&path, ConfigOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn files_that_are_no_configuration_are_named() {
    let root = built(&folder().join("histograms.root"), ConfigOptions::default()).unwrap_err();
    assert!(
        root.to_string().ends_with("is a ROOT file. Give a configuration of cabinetry or of TRExFitter."),
        "{root}"
    );
    let workspace = folder().join("../simple_workspace.json");
    let json = built(&workspace, ConfigOptions::default()).unwrap_err().to_string();
    assert!(json.contains("The file has no setting 'channels'."), "{json}");
}
