//! HistFactory's XML: what it means, and the way back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

#[path = "histfactory/broken.rs"]
mod broken;
#[path = "histfactory/folder.rs"]
mod folder;

use std::path::{Path, PathBuf};

use folder::Folder;
use ns_core::{Constraint, Effect, Measured, Model, PenaltyForm};
use ns_translate::hs3::EventSources;
use ns_translate::pyhf::{DigestCheck, ModelOptions, Workspace};
use ns_translate::{Format, ModelSource, SourceText, histfactory};

fn model(source: &ModelSource, measurement: Option<&str>) -> Model {
    let options = ModelOptions { measurement: measurement.map(str::to_owned), ..ModelOptions::default() };
    source.model(&options).expect("a valid model")
}

fn read(folder: &Folder) -> (ModelSource, Format) {
    ModelSource::read_path(&folder.combination(), &[], DigestCheck::Verify, &EventSources::default())
        .expect("it is read")
}

fn parameter<'a>(model: &'a Model, name: &str) -> &'a ns_core::Parameter {
    let found = model.parameters.iter().find(|parameter| parameter.name == name);
    found.unwrap_or_else(|| panic!("no {name}"))
}

/// Removes the obstacles to a workspace of pyhf: other constraints, and a common Poisson constraint of two samples.
fn plain() -> Folder {
    Folder::new()
        .first_only()
        .with("SR.xml", |text| text.replace("Poisson\" />\n    <Sample", "Gaussian\" />\n    <Sample"))
}

#[test]
fn what_pyhf_can_say_becomes_a_workspace() {
    let folder = plain();
    let (source, format) = read(&folder);
    assert_eq!(format, Format::Xml);
    assert!(matches!(source, ModelSource::Pyhf(_)));
    let model = model(&source, None);
    assert_eq!((model.measurement.as_str(), model.n_bins()), ("first", 3));
    let lumi = parameter(&model, "lumi");
    assert_eq!((lumi.init, lumi.fixed), (2.0, false));
    assert!(matches!(lumi.constraint, Constraint::Gaussian { sigma, .. } if sigma == 0.2));
    let mu = parameter(&model, "mu");
    assert_eq!((mu.init, mu.bounds, mu.fixed), (1.0, (0.0, 3.0), false));
    assert_eq!(parameter(&model, "norm").init, 1.5);
    // Bins below the threshold of 5 % have no uncertainty: sqrt(1 + 1)/30, sqrt(0.25 + 0)/30, sqrt(9 + 9)/60.
    let fixed: Vec<bool> =
        (0..3).map(|bin| parameter(&model, &format!("staterror_SR[{bin}]")).fixed).collect();
    assert_eq!(fixed, [true, true, false]);
    let sigma = parameter(&model, "staterror_SR[2]").constraint.prefit_sigma().expect("a width");
    assert!((sigma - 18f64.sqrt() / 60.0).abs() < 1e-15);
    // A ShapeSys without a word is Gaussian.
    let shape = parameter(&model, "shape[0]").constraint;
    assert!(matches!(shape, Constraint::Gaussian { sigma, .. } if (sigma - 0.1).abs() < 1e-12));
    assert!(
        matches!(parameter(&model, "counted[0]").constraint, Constraint::Poisson { tau, .. } if (tau - 100.0).abs() < 1e-9)
    );
    assert_eq!(model.observed.main, [25.0, 31.0, 62.0]);
}

#[test]
fn samples_without_a_word_scale_with_the_luminosity_unless_it_is_fixed_at_1() {
    let with_lumi = |folder: &Folder| {
        let model = model(&read(folder).0, None);
        let signal = &model.channels[0].samples[0];
        signal.modifiers.iter().any(|modifier| matches!(modifier.effect, Effect::Lumi))
    };
    assert!(with_lumi(&plain()));
    let fixed = plain().with("combination.xml", |text| {
        text.replace("Lumi=\"2\"", "Lumi=\"1\"")
            .replace(">norm<", ">Lumi norm<")
            .replace("Val=\"1.5\"", "Const=\"True\"")
    });
    assert!(!with_lumi(&fixed));
    let (source, _) = read(&plain());
    assert!(source.reading_warnings().iter().any(|w| w.message.contains("NormalizeByTheory")));
}

#[test]
fn a_common_poisson_constraint_becomes_hs3() {
    let folder = Folder::new();
    let (source, _) = read(&folder);
    assert!(matches!(source, ModelSource::Hs3(_)));
    // The first measurement is meant, as in a workspace.
    let model = model(&source, None);
    assert_eq!(model.measurement, "first");
    let tau = 3600.0 / 18.0;
    let constraint = parameter(&model, "staterror_SR[2]").constraint;
    assert!(
        matches!(constraint, Constraint::Poisson { tau: found, .. } if (found - tau).abs() < 1e-9),
        "{constraint:?}"
    );
    assert!(parameter(&model, "staterror_SR[0]").fixed);
    assert!(
        matches!(parameter(&model, "lumi").constraint, Constraint::Gaussian { sigma, .. } if sigma == 0.2)
    );
    let shared: Vec<usize> = model.channels[0]
        .samples
        .iter()
        .flat_map(|s| &s.modifiers)
        .filter(|m| m.name == "staterror_SR")
        .map(|m| m.first)
        .collect();
    assert_eq!(shared.len(), 2);
    assert_eq!(shared[0], shared[1]);
}

#[test]
fn constraint_terms_are_those_of_roofit() {
    let folder = Folder::new();
    let (source, _) = read(&folder);
    let gamma = model(&source, Some("gamma"));
    let penalty = &gamma.penalties[0].form;
    // Shape 1/r^2 + 1, rate 1/r^2: the term is smallest at 1.
    match penalty {
        PenaltyForm::Gamma { shape: Measured::Datum(i), rate, .. } => {
            assert!((gamma.observed.aux[*i] - 4.0).abs() < 1e-12);
            assert_eq!(*rate, ns_core::Value::Number(4.0));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(parameter(&gamma, "jes").bounds, (-2.0, 18.0));
    let log = model(&source, Some("lognormal"));
    assert!(matches!(log.penalties[0].form, PenaltyForm::Gaussian { .. }));
    for name in ["uniform", "free"] {
        let free = model(&source, Some(name));
        assert_eq!(parameter(&free, "jes").constraint, Constraint::None);
        assert!(free.penalties.is_empty());
    }
}

#[test]
fn missing_data_are_those_that_are_expected() {
    let folder = plain().with("SR.xml", |text| text.replace("<Data HistoName=\"data\" />", ""));
    let (source, _) = read(&folder);
    // lumi 2; signal 1, 2, 3; backgrounds 20, 20, 40 with norm 1.5, and 10, 10, 20.
    let model = model(&source, None);
    assert_eq!(model.observed.main, [2.0 + 60.0 + 10.0, 4.0 + 60.0 + 10.0, 6.0 + 120.0 + 20.0]);
}

#[test]
fn xml_to_json_to_xml_is_the_same() {
    let folder = plain();
    let (source, _) = read(&folder);
    let ModelSource::Pyhf(workspace) = &source else { panic!("a workspace") };
    let target = tempfile::tempdir().expect("a folder");
    let written = histfactory::write(workspace).expect("it is written");
    assert_eq!(written.notes, Vec::<String>::new());
    written.save(target.path()).expect("it is saved");
    let error = written.save(target.path()).expect_err("it is there already");
    assert!(error.to_string().contains("it is there already"));
    let again = SourceText::read(&target.path().join(histfactory::COMBINATION)).expect("it is read");
    let again = Workspace::from_slice(&again.json).expect("a workspace");
    for name in workspace.measurement_names() {
        let options = ModelOptions { measurement: Some(name.to_owned()), ..ModelOptions::default() };
        let (a, b) = (workspace.model(&options).expect("a model"), again.model(&options).expect("a model"));
        same(&a, &b);
    }
}

/// Writes XML again, and compares the models of all measurements, or of the one that is kept.
fn copied(path: &Path, measurement: Option<&str>) -> usize {
    let target = tempfile::tempdir().expect("a folder");
    let written = histfactory::copy(path, measurement, &|_| true).expect("it is written");
    written.save(target.path()).expect("it is saved");
    let read = |path: &Path| {
        ModelSource::read_path(path, &[], DigestCheck::Verify, &EventSources::default())
            .expect("it is read")
            .0
    };
    let (before, after) = (read(path), read(&target.path().join(histfactory::COMBINATION)));
    let names = after.measurement_names();
    match measurement {
        Some(name) => assert_eq!(names, [name]),
        None => assert_eq!(names, before.measurement_names()),
    }
    for name in &names {
        let (a, b) = (model(&before, Some(name)), model(&after, Some(name)));
        same(&a, &b);
        assert_eq!(a.poi_names().collect::<Vec<_>>(), b.poi_names().collect::<Vec<_>>());
        let terms = |m: &Model| m.penalties.iter().map(|p| format!("{:?}", p.form)).collect::<Vec<_>>();
        assert_eq!(terms(&a), terms(&b));
        assert_eq!(a.observed.aux.len(), b.observed.aux.len());
        for (x, y) in a.observed.aux.iter().zip(&b.observed.aux) {
            assert!((x - y).abs() <= 1e-12 * x.abs(), "{x} {y}");
        }
    }
    names.len()
}

#[test]
fn what_pyhf_cannot_say_goes_from_xml_to_xml() {
    let folder = Folder::new();
    assert_eq!(copied(&folder.combination(), None), 5);
    assert_eq!(copied(&folder.combination(), Some("gamma")), 1);
    copied(&plain().combination(), None);
    // Samples without a word keep their meaning, missing data stay missing.
    copied(
        &plain().with("SR.xml", |text| text.replace("<Data HistoName=\"data\" />", "")).combination(),
        None,
    );
    // One name for two samples.
    let shared = plain().with("SR.xml", |text| {
        text.replace("\"counted\"", "\"shape\"")
            .replace(" ConstraintType=\"Poisson\" />\n    </Sample>", " />\n    </Sample>")
    });
    copied(&shared.combination(), None);
    // Functions, also of a constant, with a common Poisson constraint.
    let function =
        "  <Function Name=\"mu\" Expression=\"kV*kV*x\" Dependents=\"kV[1,0,3],x[1.0]\"/>\n  <Input>";
    let functions = Folder::new().with("combination.xml", |text| text.replace("  <Input>", function));
    copied(&functions.combination(), None);
}

#[test]
fn channels_can_be_left_out_of_a_copy() {
    let folder = Folder::new().with("combination.xml", |text| {
        text.replace(
            "  <Measurement Name=\"first\"",
            "  <Input>./config/CR.xml</Input>\n  <Measurement Name=\"first\"",
        )
    });
    let config = folder.combination();
    let config = config.parent().expect("a folder");
    let text = std::fs::read_to_string(config.join("SR.xml")).expect("a file");
    std::fs::write(config.join("CR.xml"), text.replace("Channel Name=\"SR\"", "Channel Name=\"CR\""))
        .expect("it is written");
    assert_eq!(copied(&folder.combination(), None), 5);
    let written =
        histfactory::copy(&folder.combination(), None, &|name| name == "CR").expect("it is written");
    let names: Vec<&str> = written.files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["combination.xml", "CR.xml", "HistFactorySchema.dtd", "histograms.root"]);
}

/// Compares what a fit depends on, within rounding.
fn same(a: &Model, b: &Model) {
    let near = |a: f64, b: f64| a == b || (a - b).abs() <= 1e-13 * a.abs().max(b.abs());
    assert_eq!(a.parameters.len(), b.parameters.len());
    for p in &a.parameters {
        let q = parameter(b, &p.name);
        assert!(
            near(p.init, q.init) && near(p.bounds.0, q.bounds.0) && near(p.bounds.1, q.bounds.1),
            "{p:?} {q:?}"
        );
        assert_eq!(p.fixed, q.fixed, "{}", p.name);
        match (p.constraint.prefit_sigma(), q.constraint.prefit_sigma()) {
            (Some(a), Some(b)) => assert!(near(a, b), "{}", p.name),
            (a, b) => assert_eq!(a, b, "{}", p.name),
        }
    }
    assert_eq!(a.observed.main, b.observed.main);
    for (x, y) in a.channels.iter().zip(&b.channels) {
        for (s, t) in x.samples.iter().zip(&y.samples) {
            assert_eq!((&s.name, &s.nominal), (&t.name, &t.nominal));
            let effects = |s: &ns_core::Sample| {
                let mut all: Vec<String> =
                    s.modifiers.iter().map(|m| format!("{} {:?}", m.name, m.effect)).collect();
                all.sort();
                all
            };
            assert_eq!(effects(s), effects(t));
        }
    }
}

#[test]
fn workspaces_of_the_project_go_through_xml() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let mut through = 0;
    for name in ["simple_workspace", "background_only", "asymmetric", "large_counts", "several_measurements"]
    {
        let bytes = std::fs::read(fixtures.join(format!("{name}.json"))).expect("a fixture");
        let workspace = Workspace::from_slice(&bytes).expect("a workspace");
        let Ok(written) = histfactory::write(&workspace) else { continue };
        through += 1;
        let target = tempfile::tempdir().expect("a folder");
        written.save(target.path()).expect("it is saved");
        let again = SourceText::read(&target.path().join("combination.xml"))
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        let again = Workspace::from_slice(&again.json).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(again.measurement_names(), workspace.measurement_names(), "{name}");
        for measurement in workspace.measurement_names() {
            let options =
                ModelOptions { measurement: Some(measurement.to_owned()), ..ModelOptions::default() };
            let (a, b) =
                (workspace.model(&options).expect("a model"), again.model(&options).expect("a model"));
            assert_eq!(a.observed.main, b.observed.main, "{name}");
            assert_eq!(a.parameters.len(), b.parameters.len(), "{name}");
        }
    }
    assert!(through >= 3, "{through}");
}

#[test]
fn formats_are_recognised_by_their_contents() {
    let of = |text: &str| Format::of(text.as_bytes());
    assert_eq!(of("  {\"channels\": []}"), Format::Json);
    assert_eq!(of(""), Format::Json);
    assert_eq!(of("\n<!-- a comment --> <Combination/>"), Format::Xml);
    assert_eq!(of("root\0\0"), Format::Root);
    assert_eq!(of("# card\nimax 1\njmax *\nbin a\n"), Format::Datacard);
    assert_eq!(of("General:\n  Measurement: m\nRegions:\n"), Format::Cabinetry);
    assert_eq!(of("% c\nJob: \"fit\"\n  POI: \"mu\"\nFit: \"f\"\n"), Format::Trex);
    assert_eq!(of("  Job: \"fit\"\n\n  Region: SR\n    Type: SIGNAL\n"), Format::Trex);
    assert_eq!(of("Sample: \"a\"\n  Type: DATA\n"), Format::Trex);
    assert_eq!(of("Sample: a\nType: tube\n"), Format::Unknown);
    assert_eq!(of("hello"), Format::Unknown);
    assert_eq!(Format::of(b"\xff\xfe\x00"), Format::Unknown);
    for text in ["root\0", "imax 1\n", "hello", "<a/>"] {
        let error = SourceText::from_bytes(text.as_bytes().to_vec()).expect_err("it is refused").to_string();
        assert!(!error.contains("JSON at line"), "{error}");
        let error = ModelSource::from_slice(text.as_bytes()).expect_err("it is refused").to_string();
        assert!(error.starts_with("the file is "), "{error}");
    }
}

#[test]
fn what_is_no_model_is_named() {
    let said = |bytes: &[u8]| ModelSource::from_slice(bytes).expect_err("it is refused").to_string();
    assert!(said(b"").starts_with("the file is empty. "));
    assert!(said(b"PK\x03\x04...").starts_with("the file is a zip archive. "));
    let utf16: Vec<u8> = "\u{feff}<Combination/>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(said(&utf16).starts_with("the file is XML in UTF-16. "));
    let configuration = br#"{"General": {"Measurement": "m"}, "Regions": [], "Samples": []}"#;
    let error = said(configuration);
    assert!(error.contains("a configuration of cabinetry") && error.contains("nextstat build"), "{error}");
    // A card is to be converted for commands that work on workspaces.
    let error = said(b"imax 1\njmax *\nkmax *\n");
    assert!(error.contains("convert -i card.txt --to pyhf"), "{error}");
}

#[test]
fn files_of_the_field_are_read() {
    let Some(folder) = std::env::var_os("NEXTSTAT_REFERENCE_DIR") else {
        eprintln!("SKIPPED: set NEXTSTAT_REFERENCE_DIR to the reference folder to run this test");
        return;
    };
    let mut waiting = vec![PathBuf::from(folder).join("formats/xml")];
    let (mut read, mut refused) = (0, Vec::new());
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                waiting.push(path);
            } else if std::fs::read_to_string(&path).is_ok_and(|text| text.contains("<Combination ")) {
                match ModelSource::read_path(&path, &[], DigestCheck::Verify, &EventSources::default()) {
                    Ok((source, _)) => {
                        for name in source.measurement_names() {
                            model(&source, Some(&name));
                        }
                        copied(&path, None);
                        read += 1;
                    }
                    Err(error) => refused.push(error.to_string()),
                }
            }
        }
    }
    assert_eq!((read, refused), (16, Vec::<String>::new()));
}

/// Replaces the factor of the signal by a function.
fn with_function(element: &str) -> Folder {
    let element = format!("{element}\n  <Input>");
    plain()
        .with("combination.xml", |text| text.replace("<Input>", &element).replace("<POI>mu<", "<POI>kappa<"))
        .with("SR.xml", |text| text.replace("Name=\"mu\"", "Name=\"strength\""))
}

#[test]
fn functions_replace_the_factors_of_their_names() {
    for expression in ["kappa^2 + norm", "@0*@0+@1"] {
        let folder = with_function(&format!(
            "<Function Name=\"strength\" Expression=\"{expression}\" Dependents=\"kappa[1.5,-4,4], norm[1,0,5]\" />"
        ));
        let (source, format) = read(&folder);
        assert_eq!(format, Format::Xml);
        let model = model(&source, None);
        let kappa = parameter(&model, "kappa");
        assert_eq!((kappa.init, kappa.bounds, kappa.fixed), (1.5, (-4.0, 4.0), false));
        assert_eq!(model.poi_names().collect::<Vec<_>>(), ["kappa"]);
        assert!(!model.parameters.iter().any(|p| p.name == "strength"));
        assert_eq!(model.functions.len(), 1);
        // And back again.
        let ModelSource::Pyhf(workspace) = &source else { panic!("no workspace") };
        let written = histfactory::write(workspace).expect("it is written");
        let target = tempfile::tempdir().expect("a folder");
        written.save(target.path()).expect("it is saved");
        let again = SourceText::read(&target.path().join("combination.xml")).expect("it is read");
        let again = Workspace::from_slice(&again.json).expect("a workspace");
        let again = again.model(&ModelOptions::default()).expect("a model");
        same(&model, &again);
        assert_eq!(model.functions, again.functions);
    }
}

#[test]
fn functions_of_models_that_pyhf_cannot_say_become_functions_of_hs3() {
    let folder = Folder::new().with("combination.xml", |text| {
        text.replacen(
            "<Input>",
            "<Function Name=\"mu\" Expression=\"sqrt(kappa)\" Dependents=\"kappa[0,3]\" />\n  <Input>",
            1,
        )
        .replace("<POI>mu<", "<POI>kappa<")
    });
    let (source, _) = read(&folder);
    assert!(matches!(source, ModelSource::Hs3(_)));
    let model = model(&source, None);
    let kappa = parameter(&model, "kappa");
    assert_eq!((kappa.init, kappa.bounds), (1.5, (0.0, 3.0)));
    assert!(!model.parameters.iter().any(|p| p.name == "mu"));
}

mod damaged {
    use super::folder::Folder;
    use ns_translate::SourceText;
    use proptest::prelude::*;

    /// Pieces that change the structure of XML.
    const PIECES: [&str; 14] = [
        "<",
        ">",
        "\"",
        "/>",
        "&amp;",
        "&#0;",
        "<!--",
        "]]>",
        "<Sample Name=\"x\">",
        "</Sample>",
        "1e999",
        "-1",
        " HistoPath=\"..\"",
        "<!DOCTYPE a [<!ENTITY b \"&b;\">]>",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn no_text_makes_the_reader_panic(
            file in prop::sample::select(&["SR.xml", "combination.xml"][..]),
            changes in prop::collection::vec((any::<prop::sample::Index>(), 0usize..6, prop::sample::select(&PIECES[..])), 1..4),
        ) {
            let folder = Folder::new();
            let path = folder.combination().with_file_name(file);
            let mut text = std::fs::read_to_string(&path).expect("a file");
            for (at, cut, piece) in changes {
                let at = at.index(text.len());
                let end = (at + cut).min(text.len());
                text.replace_range(at..end, piece);
            }
            std::fs::write(&path, text).expect("it is written");
            let _ = SourceText::read(&folder.combination()).inspect_err(|error| drop(error.to_string()));
        }
    }
}
