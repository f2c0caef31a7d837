//! Workspaces built from configurations of TRExFitter, and the messages of broken ones.

use std::path::{Path, PathBuf};

use ns_translate::build::{Built, ConfigOptions, McConstraint, build_config};
use serde_json::json;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/build")
}

fn config() -> String {
    std::fs::read_to_string(folder().join("trex.config")).unwrap()
}

/// Builds a text as if it stood beside the histograms. The error has no folder.
fn built(text: &str) -> Result<Built, String> {
    let scratch = tempfile::tempdir().unwrap();
    std::fs::copy(folder().join("histograms.root"), scratch.path().join("histograms.root")).unwrap();
    let path = scratch.path().join("my.config");
    std::fs::write(&path, text).unwrap();
    build_config(&path, ConfigOptions::default())
        .map_err(|error| error.to_string().replace(&format!("{}/", scratch.path().display()), ""))
}

/// Names and types of the modifiers of the background.
fn modifiers(built: &Built) -> Vec<String> {
    let modifiers = built.workspace["channels"][0]["samples"][1]["modifiers"].as_array().unwrap();
    modifiers
        .iter()
        .map(|m| format!("{} {}", m["name"].as_str().unwrap(), m["type"].as_str().unwrap()))
        .collect()
}

#[test]
fn a_configuration_becomes_a_workspace() {
    let built = built(&config()).unwrap();
    let channels = built.workspace["channels"].as_array().unwrap();
    assert_eq!(channels.len(), 1, "the validation region is left out");
    // The simulation is so small that smoothing merges all bins, and no shape is left.
    assert_eq!(modifiers(&built), ["staterror_SR staterror", "lumi normsys", "Modelling normsys"]);
    let rough = self::built(&config().replace("  Smoothing: 40\n", "")).unwrap();
    assert_eq!(modifiers(&rough).last().unwrap(), "Modelling histosys");
    let settings = &built.workspace["measurements"][0]["config"]["parameters"];
    assert_eq!(*settings, json!([{"name": "mu", "inits": [1.0], "bounds": [[0.0, 10.0]]}]));
    assert!(built.systematics.iter().any(|row| row.smoothed));
    let warnings: Vec<String> = built.warnings.iter().map(ToString::to_string).collect();
    assert!(warnings.iter().any(|w| w.contains("settings of the fit: UseMinos")), "{warnings:?}");
}

#[test]
fn factors_with_expressions_are_functions() {
    let factor = "NormFactor: \"k\"\n  Samples: Background\n  Expression: (1.+0.1*a*mu):a[0.5,-1,2],mu[1,0,10]\n\nSystematic: \"lumi\"";
    let built = built(&config().replacen("Systematic: \"lumi\"", factor, 1)).unwrap();
    assert!(modifiers(&built).contains(&"k function".to_owned()), "{:?}", modifiers(&built));
    let settings = built.workspace["measurements"][0]["config"]["parameters"].as_array().unwrap();
    assert!(
        settings.contains(&json!({"name": "a", "inits": [0.5], "bounds": [[-1.0, 2.0]]})),
        "{settings:?}"
    );
    let model = ns_translate::pyhf::Workspace::from_value(built.workspace)
        .and_then(|workspace| workspace.model(&ns_translate::pyhf::ModelOptions::default()))
        .unwrap();
    assert!(model.parameter_index("a").is_some() && model.functions.len() == 1);
}

#[test]
fn poisson_constraints_need_hs3() {
    let text = config().replace("  MCstatConstraint: GAUSSIAN\n", "");
    let poisson = built(&text).unwrap().workspace;
    assert!(poisson.get("distributions").is_some(), "{poisson}");
    assert!(poisson.to_string().contains("poisson_dist"));
    let options = ConfigOptions { mc_constraint: Some(McConstraint::Poisson), ..ConfigOptions::default() };
    let same = build_config(&folder().join("trex.config"), options).unwrap().workspace;
    assert_eq!(same, poisson);
}

#[test]
fn statistics_alone_need_no_systematics() {
    let text = config().replace("  POI: \"mu\"\n", "  POI: \"mu\"\n  StatOnly: TRUE\n");
    let built = built(&text).unwrap();
    assert!(built.systematics.is_empty());
    assert!(!built.workspace.to_string().contains("staterror"));
}

#[test]
fn systematics_are_split_by_regions_samples_and_parts() {
    let with = |setting: &str| {
        let text = config().replace("  OverallUp: 0.02", &format!("{setting}\n  OverallUp: 0.02"));
        modifiers(&built(&text).unwrap())
    };
    assert!(with("  Decorrelate: REGION").contains(&"lumi_SR normsys".to_owned()));
    assert!(with("  Decorrelate: SAMPLE").contains(&"lumi_Background normsys".to_owned()));
    assert!(with("  Decorrelate: SHAPEACC").contains(&"lumi_Acc normsys".to_owned()));
    assert!(with("  NuisanceParameter: \"L\"\n  Decorrelate: REGION").contains(&"L_SR normsys".to_owned()));
    let text = config().replace("  Smoothing: 40\n", "  Decorrelate: SHAPEACC\n");
    let parts = modifiers(&built(&text).unwrap());
    for name in ["Modelling_Acc normsys", "Modelling_Shape histosys"] {
        assert!(parts.contains(&name.to_owned()), "{parts:?}");
    }
}

#[test]
fn changes_are_scaled() {
    let norm = |text: &str| {
        let built = built(text).unwrap();
        let row = built.systematics.iter().find(|row| row.systematic == "Modelling").unwrap().clone();
        row.normalisation.and_then(|part| part.up).unwrap()
    };
    let text = config().replace("  Smoothing: 40\n", "");
    let doubled =
        norm(&text.replace("  Symmetrisation: ONESIDED", "  Symmetrisation: ONESIDED\n  ScaleUp: 2"));
    assert!((doubled - 2.0 * norm(&text)).abs() < 1e-12, "{doubled}");
    let overall = config().replace("  OverallUp: 0.02", "  ScaleDown: 0.5\n  OverallUp: 0.02");
    let lumi = built(&overall).unwrap().workspace["channels"][0]["samples"][1]["modifiers"].clone();
    let lumi = lumi.as_array().unwrap().iter().find(|modifier| modifier["name"] == "lumi").unwrap().clone();
    assert_eq!(lumi["data"], json!({"hi": 1.02, "lo": 0.99}));
}

#[test]
fn statistics_as_systematics_have_a_parameter_for_each_bin() {
    let text =
        config() + "\nSystematic: \"mc\"\n  Type: STAT\n  Samples: Background\n  Decorrelate: REGION\n";
    let built = built(&text.replace("  SystPruningNorm: 0.002\n  SystPruningShape: 0.002\n", "")).unwrap();
    let sample = &built.workspace["channels"][0]["samples"][1];
    let nominal: Vec<f64> = serde_json::from_value(sample["data"].clone()).unwrap();
    let list = sample["modifiers"].as_array().unwrap();
    let sigmas = list.iter().find(|m| m["type"] == "staterror").unwrap()["data"].clone();
    let sigmas: Vec<f64> = serde_json::from_value(sigmas).unwrap();
    for (bin, sigma) in sigmas.iter().enumerate() {
        let name = format!("mc_SR_bin{bin}");
        let of = |kind: &str| {
            list.iter().find(|m| m["name"] == *name && m["type"] == kind).unwrap()["data"].clone()
        };
        let factor = of("normsys")["hi"].as_f64().unwrap();
        let up: Vec<f64> = serde_json::from_value(of("histosys")["hi_data"].clone()).unwrap();
        for (at, (up, nominal)) in up.iter().zip(&nominal).enumerate() {
            let expected = if at == bin { nominal + sigma } else { *nominal };
            assert!((up * factor - expected).abs() < 1e-9, "{name}");
        }
    }
}

#[test]
fn smoothing_follows_a_reference_sample() {
    // A second background with the same templates, which takes the smoothed change of the first.
    let text = config()
        .replace("Systematic: \"lumi\"", "Sample: \"Other\"\n  Type: BACKGROUND\n  LumiScale: 3\n  HistoName: \"SR/background/nominal\"\n\nSystematic: \"lumi\"")
        .replace("  Samples: Background\n", "  Samples: Background,Other\n  ReferenceSmoothing: Background\n")
        .replace("  Smoothing: 40", "  Smoothing: 10")
        .replace("  SystPruningNorm: 0.002\n  SystPruningShape: 0.002\n", "");
    let built = built(&text).unwrap();
    let effect = |sample: usize| {
        let sample = &built.workspace["channels"][0]["samples"][sample];
        let of = |kind: &str| {
            let all = sample["modifiers"].as_array().unwrap();
            all.iter().find(|m| m["name"] == "Modelling" && m["type"] == kind).map(|m| m["data"].clone())
        };
        let factor = of("normsys").map_or(1.0, |data| data["hi"].as_f64().unwrap());
        let nominal: Vec<f64> = serde_json::from_value(sample["data"].clone()).unwrap();
        let shape = of("histosys")
            .map_or_else(|| nominal.clone(), |d| serde_json::from_value(d["hi_data"].clone()).unwrap());
        let ratios: Vec<f64> = shape.iter().zip(&nominal).map(|(up, n)| factor * up / n).collect();
        ratios
    };
    let (reference, other) = (effect(1), effect(2));
    assert!(reference.iter().any(|ratio| (ratio - 1.0).abs() > 1e-3), "{reference:?}");
    assert!(reference.iter().zip(&other).all(|(a, b)| (a - b).abs() < 1e-9), "{reference:?} {other:?}");
}

/// A configuration with a systematic of independent bins on a second background, which follows the first.
fn independent(further: &str) -> String {
    config()
        .replace("Systematic: \"lumi\"", "Sample: \"Other\"\n  Type: BACKGROUND\n  LumiScale: 3\n  HistoName: \"SR/background/nominal\"\n\nSystematic: \"lumi\"")
        .replace("  Samples: Background\n", &format!("  Samples: Background,Other\n{further}"))
        .replace("Type: HISTO", "Type: SHAPE")
        .replace("  Smoothing: 40\n", "")
}

#[test]
fn independent_bins_stay_independent_with_a_reference_of_smoothing() {
    // The bins of two samples would share their parameters, which a workspace cannot say, with the reference and without it.
    for further in ["  ReferenceSmoothing: Background\n", ""] {
        let told = built(&independent(further)).unwrap_err();
        assert!(told.contains("The shapesys name 'Modelling_SR' is already used"), "{told}");
    }
    let alone = independent("  ReferenceSmoothing: Background\n").replace("Background,Other", "Background");
    assert_eq!(modifiers(&built(&alone).unwrap()).last().unwrap(), "Modelling_SR shapesys");
}

#[test]
fn the_change_of_data_is_subtracted() {
    // The data change as the background does, so that nothing is left of its change.
    let text = config()
        .replace("  Smoothing: 40\n", "  SubtractRefSampleVar: TRUE\n  ReferenceSample: \"Data\"\n  HistoNameUpRefSample: \"SR/background/modelling\"\n")
        .replace("  SystPruningNorm: 0.002\n  SystPruningShape: 0.002\n", "")
        .replace("SR/data/nominal", "SR/background/nominal");
    let built = built(&text).unwrap();
    let row = built.systematics.iter().find(|row| row.systematic == "Modelling").unwrap();
    let up = row.normalisation.as_ref().and_then(|part| part.up).unwrap_or_default();
    assert!(up.abs() < 1e-12, "{row:?}");
}

#[test]
fn axes_are_those_of_the_configuration() {
    let text =
        config().replacen("  Type: SIGNAL\n", "  Type: SIGNAL\n  VariableTitle: \"m_{bb} [GeV]\"\n", 1);
    let axes = built(&text).unwrap().axes;
    let axis = &axes.channels()["SR"];
    assert_eq!(axis.title.as_deref(), Some("m_{bb} [GeV]"));
    assert!(axis.edges.as_ref().is_some_and(|edges| edges.len() > 1), "{axis:?}");
}

#[test]
fn a_heading_with_several_names_makes_several_systematics() {
    let text = config()
        .replace("Systematic: \"lumi\"", "Systematic: \"lumi\";\"trigger\"")
        .replace("  OverallUp: 0.02", "  OverallUp: 0.02;0.05");
    let built = built(&text).unwrap();
    let list = built.workspace["channels"][0]["samples"][1]["modifiers"].as_array().unwrap().clone();
    let data = |name: &str| list.iter().find(|modifier| modifier["name"] == name).unwrap()["data"].clone();
    assert_eq!(data("lumi"), json!({"hi": 1.02, "lo": 0.98}));
    assert_eq!(data("trigger"), json!({"hi": 1.05, "lo": 0.98}));
}

#[test]
fn comments_and_indentation_change_nothing() {
    let text = config()
        .replace("Samples: all", "Samples: all   % everywhere")
        .replace("OverallDown: -0.02", "OverallDown: -0.02 # x")
        .replace("\n\nRegion: \"CR\"", "\n  \n   Region: \"CR\" % \"second\"")
        .replace("Samples: Background", "Samples: Back*");
    assert_ne!(text, config());
    assert_eq!(built(&text).unwrap().workspace, built(&config()).unwrap().workspace);
}

#[test]
fn the_last_of_two_settings_counts() {
    let text = config().replace("  OverallUp: 0.02\n", "  OverallUp: 0.5\n  OverallUp: 0.02\n");
    let built = built(&text).unwrap();
    assert_eq!(built.workspace, self::built(&config()).unwrap().workspace);
    assert!(
        built.warnings.iter().any(|w| w.to_string().contains("is also in line 37")),
        "{:?}",
        built.warnings
    );
}

#[test]
fn one_direction_is_mirrored() {
    let text = config().replace("  Smoothing: 40\n", "");
    let effect = |text: &str| {
        let workspace = built(text).unwrap().workspace;
        let list = workspace["channels"][0]["samples"][1]["modifiers"].as_array().unwrap().clone();
        let of = |kind: &str, key: &str| {
            let all = list.iter().find(|m| m["name"] == "Modelling" && m["type"] == kind).unwrap();
            all["data"][key].clone()
        };
        let shape = |key: &str| serde_json::from_value::<Vec<f64>>(of("histosys", key)).unwrap();
        let mut numbers =
            [of("normsys", "hi").as_f64().unwrap(), of("normsys", "lo").as_f64().unwrap()].to_vec();
        numbers.extend(shape("hi_data"));
        numbers.extend(shape("lo_data"));
        numbers
    };
    let up = effect(&text);
    let down = effect(&text.replace("HistoNameUp", "HistoNameDown"));
    let bins = (up.len() - 2) / 2;
    let swapped = [&[up[1], up[0]], &up[2 + bins..], &up[2..2 + bins]].concat();
    assert!(down.iter().zip(&swapped).all(|(a, b)| (a - b).abs() < 1e-9), "{down:?} {swapped:?}");
}

#[test]
fn a_fit_takes_the_regions_that_it_names() {
    let text = config()
        .replace("Type: VALIDATION", "Type: CONTROL")
        .replace("  FitType: SPLUSB\n", "  FitType: SPLUSB\n  FitRegion: SR\n");
    let names = |text: &str| {
        let workspace = built(text).unwrap().workspace;
        let channels = workspace["channels"].as_array().unwrap().clone();
        channels.iter().map(|channel| channel["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&text), ["SR"]);
    assert_eq!(names(&text.replace("FitRegion: SR", "FitRegion: C*")), ["CR"]);
    assert_eq!(names(&text.replace("FitRegion: SR", "FitRegion: SR,CR")), ["SR", "CR"]);
}

#[test]
fn numbers_of_shape_factors_have_no_effect() {
    let factor = |further: &str| {
        format!("{}\nShapeFactor: \"f\"\n{further}  Samples: Background\n  Regions: SR\n", config())
    };
    let plain = built(&factor("")).unwrap().workspace;
    assert_eq!(built(&factor("  Nominal: -1 # not used\n  Min: -1\n  Max: -1\n")).unwrap().workspace, plain);
    let smooth = config().replace("  Title: \"Background\"\n", "  Smooth: FALSE\n");
    assert_eq!(built(&smooth).unwrap().workspace, built(&config()).unwrap().workspace);
}

/// Name of a case, what is replaced in the configuration above, and by what.
const CASES: &[(&str, &str, &str)] = &[
    ("no_colon", "  ReadFrom: HIST", "  ReadFrom HIST"),
    ("open_quote", "POI: \"mu\"", "POI: \"mu"),
    ("before_the_first_block", "% Histograms", "Label: x\n% Histograms"),
    ("unknown_setting", "  HistoFile:", "  HistoFil:"),
    ("unsupported_setting", "  UseMinos: \"mu\"\n\nRegion: \"SR\"", "\nRegion: \"SR\"\n  DropBins: 1"),
    ("unsupported_block", "Fit: \"fit\"", "Unfolding: \"fit\""),
    (
        "expression_without_parameters",
        "Systematic: \"lumi\"",
        "NormFactor: \"k\"\n  Expression: (1-mu)\n\nSystematic: \"lumi\"",
    ),
    (
        "wrong_expression",
        "Systematic: \"lumi\"",
        "NormFactor: \"k\"\n  Expression: (1-mu:mu[1,0,10]\n\nSystematic: \"lumi\"",
    ),
    ("several_names", "Systematic: \"lumi\"", "Systematic: \"lumi\",\"trigger\""),
    ("unknown_type", "Type: OVERALL", "Type: NORM"),
    ("statistics_without_regions", "Type: OVERALL", "Type: STAT"),
    ("unknown_decorrelation", "Type: OVERALL", "Type: OVERALL\n  Decorrelate: BIN"),
    ("scale_of_regions", "Type: OVERALL", "Type: OVERALL\n  ScaleUp: SR:2"),
    ("no_number", "OverallUp: 0.02", "OverallUp: two"),
    ("no_overall_down", "  OverallDown: -0.02\n", ""),
    ("no_template_down", "  Symmetrisation: ONESIDED\n", ""),
    ("unknown_symmetrisation", "ONESIDED", "MAXIMUM"),
    ("smoothing_too_large", "Smoothing: 40", "Smoothing: 400"),
    ("no_file_name", "  HistoFile: \"histograms\"\n", ""),
    ("no_such_file", "HistoFile: \"histograms\"", "HistoFile: \"histogram\""),
    ("no_such_histogram", "background/modelling", "background/modeling"),
    (
        "binning_of_histograms",
        "Type: SIGNAL\n\nRegion: \"CR\"",
        "Type: SIGNAL\n  Binning: 200,390,600\n\nRegion: \"CR\"",
    ),
    (
        "bins_that_do_not_ascend",
        "Type: SIGNAL\n\nRegion: \"CR\"",
        "Type: SIGNAL\n  Rebinning: 3,2\n\nRegion: \"CR\"",
    ),
    ("rebin_by_none", "Type: SIGNAL\n\nRegion: \"CR\"", "Type: SIGNAL\n  Rebin: 0\n\nRegion: \"CR\""),
    ("morphing_of_one", "Sample: \"Background\"\n", "Sample: \"Background\"\n  Morphing: \"x\",1\n"),
    ("morphing_without_value", "Sample: \"Background\"\n", "Sample: \"Background\"\n  Morphing: \"x\"\n"),
    ("no_reference", "  Smoothing: 40\n", "  ReferenceSample: \"Nothing\"\n"),
    ("reference_of_smoothing", "  Smoothing: 40\n", "  ReferenceSmoothing: \"Signal\"\n"),
    ("automatic_bins", "ReadFrom: HIST", "ReadFrom: NTUP"),
    ("unknown_sample", "Samples: Background", "Samples: background"),
    ("unknown_region", "  OverallUp: 0.02\n", "  OverallUp: 0.02\n  Regions: SRR\n"),
    ("unknown_setting_of_the_fit", "UseMinos:", "FitRegionX:"),
    ("region_for_validation", "UseMinos: \"mu\"", "FitRegion: SR,CR"),
    ("smooth_sample", "  Title: \"Background\"\n", "  Smooth: TRUE\n"),
    ("no_value", "Samples: all", "Samples: % all"),
    ("unknown_block", "Region: \"CR\"", "Regon: \"CR\""),
    ("no_job", "Job: \"search\"\n", "Options: \"search\"\n"),
    ("unknown_poi", "POI: \"mu\"", "POI: \"mue\""),
];

#[test]
fn each_broken_configuration_gets_its_message() {
    let mut messages = String::new();
    let base = config();
    for (name, from, to) in CASES {
        let text = base.replacen(from, to, 1);
        assert_ne!(text, base, "{name} changes nothing");
        let message = built(&text).err().unwrap_or_else(|| panic!("{name} is accepted"));
        messages.push_str(&format!("== {name}\n{}\n\n", message.trim_end()));
    }
    insta::assert_snapshot!(messages);
}
