//! Tests that HistFactory's XML that is written again has the same likelihood.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::Path;

use ns_compute::CpuSession;
use ns_core::{Data, EvaluationRequest, Execution, Model, Session as _};
use ns_translate::hs3::EventSources;
use ns_translate::pyhf::{DigestCheck, ModelOptions, Workspace};
use ns_translate::{ModelSource, histfactory};

fn model(path: &Path) -> Model {
    let (source, _) =
        ModelSource::read_path(path, &[], DigestCheck::Verify, &EventSources::default()).unwrap();
    assert!(matches!(source, ModelSource::Hs3(_)), "no workspace can say it");
    source.model(&ModelOptions::default()).unwrap()
}

/// Returns `-ln L` at points, whose coordinates are those of the parameters of `names`.
fn nll(model: &Model, names: &[String], points: &[Vec<f64>]) -> Vec<f64> {
    let session = CpuSession::open(model, &Execution::default()).unwrap();
    let request = EvaluationRequest { nll: true, ..EvaluationRequest::default() };
    let at = |point: &Vec<f64>| {
        let mut own = vec![0.0; point.len()];
        for (name, value) in names.iter().zip(point) {
            own[model.parameter_index(name).unwrap_or_else(|| panic!("no {name}"))] = *value;
        }
        session.evaluate(&Data::observed(), &own, request).unwrap().nll[0]
    };
    points.iter().map(at).collect()
}

#[test]
fn xml_that_is_written_again_has_the_same_likelihood() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/simple_workspace.json");
    let folder = std::env::temp_dir().join(format!("xml_again_{}", std::process::id()));
    let (first, second) = (folder.join("first"), folder.join("second"));
    histfactory::write(&Workspace::from_path(fixture).unwrap()).unwrap().save(&first).unwrap();
    let change = |name: &str, from: &str, to: &str| {
        let text = fs::read_to_string(first.join(name)).unwrap();
        assert!(text.contains(from), "{name}: {from}");
        fs::write(first.join(name), text.replace(from, to)).unwrap();
    };
    // A Poisson constraint that two samples share, and constraint terms.
    change("SR.xml", "ConstraintType=\"Gaussian\"", "ConstraintType=\"Poisson\"");
    for scales in ["NormalizeByTheory=\"True\">", "NormalizeByTheory=\"False\">"] {
        change("SR.xml", scales, &format!("{scales}<StatError Activate=\"True\"/>"));
    }
    let terms = "<ConstraintTerm Type=\"LogNormal\" RelativeUncertainty=\"0.2\">extrapolation</ConstraintTerm>\
                 <ConstraintTerm Type=\"Gamma\" RelativeUncertainty=\"0.3\">signal_theory</ConstraintTerm></Measurement>";
    change("combination.xml", "</Measurement>", terms);
    let combination = first.join(histfactory::COMBINATION);
    histfactory::copy(&combination, None, &|_| true).unwrap().save(&second).unwrap();

    let (before, after) = (model(&combination), model(&second.join(histfactory::COMBINATION)));
    assert_eq!(before.penalties.len(), 2);
    let names: Vec<String> = before.parameters.iter().map(|p| p.name.clone()).collect();
    // Points around the start values, within the bounds, from a linear congruential generator.
    let mut state = 20_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    };
    let points: Vec<Vec<f64>> = (0..20)
        .map(|_| {
            let of = |p: &ns_core::Parameter| (p.init + 0.8 * random()).clamp(p.bounds.0, p.bounds.1);
            before.parameters.iter().map(of).collect()
        })
        .collect();
    let (a, b) = (nll(&before, &names, &points), nll(&after, &names, &points));
    for (x, y) in a.iter().zip(&b) {
        assert!(x.is_finite() && (x - y).abs() <= 1e-12 * x.abs().max(1.0), "{x} {y}");
    }
    fs::remove_dir_all(folder).unwrap();
}
