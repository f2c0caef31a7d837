//! Tests of functions of parameters in workspaces, HS3 files and datacards.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::path::Path;

use ns_compute::CpuSession;
use ns_core::{Data, EvaluationRequest, Execution, FunctionForm, Model, Session as _, Value};
use ns_translate::datacard::{Card, CardOptions};
use ns_translate::hs3::{Hs3, write};
use ns_translate::pyhf::{ModelOptions, Prune, Rename, Workspace, workspace_of};

fn fixture(name: &str) -> Workspace {
    Workspace::from_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name))
        .unwrap()
}

fn model(workspace: &Workspace) -> Model {
    workspace.model(&ModelOptions::default()).unwrap()
}

/// Returns `-ln L` of a model at parameters that are given by name; others have their start values.
fn nll(model: &Model, values: &[(&str, f64)]) -> f64 {
    let mut point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
    for (name, value) in values {
        point[model.parameter_index(name).unwrap_or_else(|| panic!("no {name}"))] = *value;
    }
    let session = CpuSession::open(model, &Execution::default()).unwrap();
    let request = EvaluationRequest { nll: true, ..EvaluationRequest::default() };
    session.evaluate(&Data::observed(), &point, request).unwrap().nll[0]
}

const EFT: [(&str, f64); 3] = [("cH", 0.7), ("cW", -0.4), ("shift", 0.02)];
const ABCD: [(&str, f64); 4] = [("n_B", 44.0), ("n_C", 110.0), ("t", 0.6), ("mu", 1.4)];

#[test]
fn functions_survive_the_way_to_hs3_and_back() {
    for (name, values) in [("eft.json", &EFT[..]), ("abcd.json", &ABCD[..])] {
        let workspace = fixture(name);
        let original = model(&workspace);
        let text = serde_json::to_vec(&write(&original).unwrap()).unwrap();
        let hs3 = Hs3::from_slice(&text).unwrap().model(&ModelOptions::default()).unwrap();
        assert_eq!(hs3.functions.len(), original.functions.len(), "{name}");
        let again = Workspace::from_value(workspace_of(&hs3).unwrap()).unwrap();
        let want = nll(&original, values);
        for other in [&hs3, &model(&again)] {
            assert!((nll(other, values) - want).abs() < 1e-9, "{name}: {} {want}", nll(other, values));
        }
        // A workspace that is written is read as the same one.
        assert_eq!(Workspace::from_value(workspace.to_value()).unwrap(), workspace, "{name}");
    }
}

#[test]
fn readers_of_pyhf_do_not_know_the_type() {
    // The schema of pyhf lists the types of modifiers, and `function` is none of them.
    let types = ["histosys", "lumi", "normfactor", "normsys", "shapefactor", "shapesys", "staterror"];
    let value = fixture("eft.json").to_value();
    let modifiers = value["channels"][0]["samples"][0]["modifiers"].as_array().unwrap();
    assert!(modifiers.iter().any(|m| !types.contains(&m["type"].as_str().unwrap())));
}

#[test]
fn parameters_are_renamed_inside_expressions() {
    let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|&(a, b)| (a.to_owned(), b.to_owned())).collect()
    };
    let rename =
        Rename { modifiers: map(&[("cH", "kappa"), ("mu_signal", "rate_of_signal")]), ..Rename::default() };
    let workspace = fixture("eft.json");
    let renamed = workspace.rename(&rename).unwrap().workspace;
    let (before, after) = (model(&workspace), model(&renamed));
    assert_eq!(after.parameters[after.poi().unwrap()].name, "kappa");
    let values = EFT.map(|(name, value)| (if name == "cH" { "kappa" } else { name }, value));
    assert_eq!(nll(&before, &EFT), nll(&after, &values));
    let text = renamed.to_value().to_string();
    assert!(text.contains("rate_of_signal/(1 + 0.02*kappa^2 + shift)") && !text.contains("cH"), "{text}");

    let no_word = Rename { modifiers: map(&[("cH", "kappa H")]), ..Rename::default() };
    let error = workspace.rename(&no_word).unwrap_err().to_string();
    assert!(
        error.contains("Expressions of functions contain 'cH', and cannot contain 'kappa H'."),
        "{error}"
    );
}

#[test]
fn pruning_keeps_what_expressions_use() {
    let workspace = fixture("eft.json");
    let prune = |names: &[&str]| Prune {
        modifiers: names.iter().map(|&n| n.to_owned()).collect(),
        ..Prune::default()
    };
    // Another function uses it.
    let error = workspace.prune(&prune(&["mu_signal"])).unwrap_err().to_string();
    assert!(error.contains("uses 'mu_signal', which is neither a modifier nor a parameter"), "{error}");
    let pruned = workspace.prune(&prune(&["width"])).unwrap();
    let names: Vec<String> = model(&pruned.workspace).parameters.into_iter().map(|p| p.name).collect();
    assert!(!names.contains(&"shift".to_owned()) && names.contains(&"cH".to_owned()));
    let settings = pruned.workspace.to_value()["measurements"][0]["config"]["parameters"].to_string();
    assert!(!settings.contains("shift"), "{settings}");
}

#[test]
fn factors_of_cards_are_formulas() {
    let card = "imax *\njmax *\nkmax *\n\
                bin A B C D\nobservation 16 50 100 500\n\
                bin      A   A   B   C   D\n\
                process  sig bkg bkg bkg bkg\n\
                process  0   1   1   1   1\n\
                rate     3   1   1   1   1\n\
                alpha rateParam A bkg (@0*@1/@2) beta,gamma,delta\n\
                beta  rateParam B bkg 50\ngamma rateParam C bkg 100\ndelta rateParam D bkg 500\n";
    let read = |text: &str| {
        Card::from_text(text.as_bytes(), "abcd.txt", &CardOptions::default()).and_then(|c| c.model())
    };
    let model = read(card).unwrap();
    let names: Vec<&str> = model.parameters.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["r", "beta", "gamma", "delta"]);
    assert_eq!(model.functions.len(), 1);
    assert!(matches!(&model.functions[0].form, FunctionForm::Expression(tape)
        if tape.values().collect::<Vec<_>>() == [Value::Parameter(1), Value::Parameter(2), Value::Parameter(3)]));
    let session = CpuSession::open(&model, &Execution::default()).unwrap();
    let request = EvaluationRequest { expected: true, ..EvaluationRequest::default() };
    let expected = session.evaluate(&Data::observed(), &[2.0, 40.0, 90.0, 600.0], request).unwrap().expected;
    assert_eq!(expected[..4], [12.0, 40.0, 90.0, 600.0]);

    // Formulas use formulas, names stand for arguments, and a `param` may be an argument.
    let more = format!("{card}two rateParam B bkg 1+0.1*k*alpha/@1 alpha,k\nk param 0 1\n");
    let model = read(&more).unwrap();
    assert_eq!(model.functions.len(), 2);
    assert!(model.parameter_index("k").is_some());

    for (line, said) in [
        ("x rateParam B bkg (@0*@3) beta,gamma", "uses '@3', which is none of its arguments"),
        ("x rateParam B bkg (@0*2 beta", "is wrong at character"),
        ("x rateParam B bkg @0*2 betta", "uses 'betta', which no line declares"),
        ("x rateParam B bkg @0*2 x", "The rateParam 'x' uses itself"),
        ("alpha rateParam B bkg @0*2 beta", "has another formula here than in line"),
    ] {
        let error = read(&format!("{card}{line}\n")).unwrap_err().to_string();
        assert!(error.contains(said), "{line}: {error}");
    }
}
