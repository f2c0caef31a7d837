//! Compares HS3 models with independent reference programs: `-2 ln L` and its gradient at three points, the minimum
//! and its uncertainties. The models and the reference results are in the folder `hs3/models` of
//! `NEXTSTAT_REFERENCE_DIR`.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ns_core::{Control, Data, EvaluationRequest, Execution, Model, Session};
use ns_inference::{FitOptions, fit, open_session};
use ns_translate::ModelSource;
use ns_translate::pyhf::ModelOptions;
use serde::Deserialize;

type Numbers = BTreeMap<String, f64>;

#[derive(Deserialize)]
struct Oracle {
    points: Vec<Point>,
    minimum: Minimum,
}

#[derive(Deserialize)]
struct Point {
    values: Numbers,
    twice_nll: f64,
    gradient: Option<Numbers>,
}

#[derive(Deserialize)]
struct Minimum {
    values: Numbers,
    twice_nll: f64,
    /// Uncertainties from the inverse Hessian, without a correction for event weights.
    uncertainties: Numbers,
    /// Uncertainties for weighted events by the method SumW2, with squared weights in the Hessian.
    uncertainties_sumw2: Option<Numbers>,
    /// Uncertainties for weighted events by the sandwich method.
    uncertainties_asymptotic: Option<Numbers>,
    /// Name of the program that computed the minimum; `None` for the usual reference program.
    made_by: Option<String>,
}

struct Case {
    name: String,
    model: Model,
    session: Box<dyn Session>,
    oracle: Oracle,
}

/// Reads all models in both dialects of HS3, with their reference results. Returns `None` if the reference folder is
/// not set.
fn cases() -> Option<Vec<Case>> {
    let Some(folder) = std::env::var_os("NEXTSTAT_REFERENCE_DIR") else {
        eprintln!("SKIPPED: set NEXTSTAT_REFERENCE_DIR to the reference folder to run this test");
        return None;
    };
    let folder = PathBuf::from(folder).join("hs3/models");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.to_str().unwrap().ends_with(".hs3.json"));
    files.sort();
    assert!(files.len() >= 19, "only {} models in {}", files.len(), folder.display());
    Some(files.iter().map(|path| case(path)).collect())
}

fn case(path: &Path) -> Case {
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    let stem = name.trim_end_matches(".hs3.json").trim_end_matches(".spec");
    let text = std::fs::read(path).unwrap();
    let model = ModelSource::from_slice(&text).and_then(|source| source.model(&ModelOptions::default()));
    let model = model.unwrap_or_else(|error| panic!("{name}: {error}"));
    let execution = Execution { threads: 1, ..Execution::default() };
    let session = open_session(&model, &execution).unwrap_or_else(|error| panic!("{name}: {error}"));
    let oracle = std::fs::read(path.with_file_name(format!("{stem}.oracle.json"))).unwrap();
    Case { name, model, session, oracle: serde_json::from_slice(&oracle).unwrap() }
}

impl Case {
    /// Returns `-2 ln L` and its gradient. The parameters in `values` have the given values. All other parameters
    /// have their initial values.
    fn evaluate(&self, values: &Numbers) -> (f64, Vec<f64>) {
        let point: Vec<f64> =
            self.model.parameters.iter().map(|p| values.get(&p.name).copied().unwrap_or(p.init)).collect();
        for name in values.keys() {
            assert!(self.model.parameter_index(name).is_some(), "{}: no parameter {name}", self.name);
        }
        let request = EvaluationRequest { nll: true, gradient: true, ..EvaluationRequest::default() };
        let found = self.session.evaluate(&Data::observed(), &point, request).unwrap();
        (2.0 * found.nll[0], found.gradient.iter().map(|g| 2.0 * g).collect())
    }
}

#[test]
fn values_and_gradients_are_those_of_the_oracle() {
    let Some(cases) = cases() else { return };
    for case in &cases {
        let first = &case.oracle.points[0];
        let (start, _) = case.evaluate(&first.values);
        for (i, point) in case.oracle.points.iter().enumerate() {
            let (value, gradient) = case.evaluate(&point.values);
            let (found, right) = (value - start, point.twice_nll - first.twice_nll);
            let size = point.twice_nll.abs().max(first.twice_nll.abs()).max(1.0);
            // ROOT writes statistical errors with seven digits only.
            let rounded = case.name.starts_with("h01") || case.name.starts_with("h02");
            let tolerance = if rounded { 1e-7 } else { 1e-11 };
            assert!(
                (found - right).abs() <= tolerance * size,
                "{}: point {i} has {found}, the oracle {right}",
                case.name
            );
            for (name, right) in point.gradient.iter().flatten() {
                let found = gradient[case.model.parameter_index(name).unwrap()];
                assert!(
                    (found - right).abs() <= 1e-9 * right.abs().max(1.0),
                    "{}: the slope in {name} at point {i} is {found}, that of the oracle {right}",
                    case.name
                );
            }
        }
    }
}

fn options(method: &str) -> FitOptions {
    FitOptions::default().weighted_uncertainties(Some(method.parse().unwrap()))
}

#[test]
fn uncertainties_of_weighted_events_are_those_of_the_oracle() {
    let Some(cases) = cases() else { return };
    let mut compared = 0;
    for case in &cases {
        let minimum = &case.oracle.minimum;
        let methods =
            [("sumw2", &minimum.uncertainties_sumw2), ("sandwich", &minimum.uncertainties_asymptotic)];
        for (method, right) in methods {
            let Some(right) = right else { continue };
            let result =
                fit(&case.model, case.session.as_ref(), &options(method), Control::default()).unwrap();
            for (parameter, right) in right {
                let found = result.uncertainty(parameter).unwrap();
                let what = format!("{}, {method}: {parameter}", case.name);
                assert!((found / right - 1.0).abs() <= 1e-7, "{what} has {found}, the oracle {right}");
                compared += 1;
            }
        }
    }
    assert!(compared >= 10, "only {compared} uncertainties were compared");
}

#[test]
fn minima_and_uncertainties_are_those_of_the_oracle() {
    let Some(cases) = cases() else { return };
    for case in &cases {
        let (name, minimum) = (&case.name, &case.oracle.minimum);
        let result = fit(&case.model, case.session.as_ref(), &options("hesse"), Control::default()).unwrap();
        assert!(result.converged, "{name}: {}", result.termination_reason);
        let first = &case.oracle.points[0];
        let (start, _) = case.evaluate(&first.values);
        let found = result.twice_nll - start;
        let right = minimum.twice_nll - first.twice_nll;
        assert!(found <= right + 1e-7, "{name}: the minimum {found} is above that of the oracle, {right}");
        // MIGRAD stops a little above the minimum.
        let exact = !minimum.made_by.as_ref().is_some_and(|by| by.contains("MIGRAD"));
        assert!(
            !exact || found >= right - 1e-7,
            "{name}: the minimum {found} is below that of the oracle, {right}"
        );
        // The finite steps of ROOT change uncertainties by up to 0.7 %. A second reference program for this model
        // shows this.
        let (near, close) = if exact { (1e-5, 1e-5) } else { (2e-3, 1e-2) };
        for (parameter, right) in &minimum.uncertainties {
            let found = result
                .uncertainty(parameter)
                .unwrap_or_else(|| panic!("{name}: {parameter} has no uncertainty"));
            assert!(
                (found / right - 1.0).abs() <= close,
                "{name}: {parameter} has {found}, the oracle {right}"
            );
            let (value, best) = (result.value(parameter).unwrap(), minimum.values[parameter]);
            assert!(
                (value - best).abs() <= near * right,
                "{name}: {parameter} is {value}, that of the oracle {best}"
            );
        }
    }
}
