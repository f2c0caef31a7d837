//! Compares names, order, start values, bounds, fixed flags and data of published workspaces with those of pyhf
//! 0.7.6. The environment variable `NEXTSTAT_REFERENCE_DIR` gives the folder with the workspaces and the results of
//! pyhf.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::path::{Path, PathBuf};

use ns_core::Constraint;
use ns_translate::pyhf::{ModelOptions, Workspace};
use serde_json::Value;

/// Returns the folder that contains `workspaces/` and `reference/`. If the environment variable with this folder is
/// not set, prints a note that the test is skipped.
fn reference_dir() -> Option<PathBuf> {
    match std::env::var_os("NEXTSTAT_REFERENCE_DIR") {
        Some(dir) => Some(PathBuf::from(dir)),
        None => {
            eprintln!("SKIPPED: set NEXTSTAT_REFERENCE_DIR to the reference folder to run this test");
            None
        }
    }
}

fn load(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

#[test]
fn nine_workspaces_have_pyhfs_parameters_and_data() {
    let Some(dir) = reference_dir() else { return };
    let mut seen = 0;
    for entry in std::fs::read_dir(dir.join("reference")).unwrap() {
        let path = entry.unwrap().path();
        let reference = load(&path);
        let name = path.file_name().unwrap();
        let workspace = Workspace::from_path(dir.join("workspaces").join(name)).unwrap();
        let options = ModelOptions {
            measurement: Some(reference["measurement"].as_str().unwrap().to_owned()),
            ..ModelOptions::default()
        };
        let model = workspace.model(&options).unwrap();

        let names: Vec<&str> = model.parameters.iter().map(|p| p.name.as_str()).collect();
        let expected: Vec<&str> =
            reference["param_names"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
        assert_eq!(names, expected, "{name:?}");
        let inits: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
        assert_eq!(inits, numbers(&reference["init"]), "{name:?}");
        let bounds: Vec<f64> = model.parameters.iter().flat_map(|p| [p.bounds.0, p.bounds.1]).collect();
        let expected: Vec<f64> = reference["bounds"].as_array().unwrap().iter().flat_map(numbers).collect();
        assert_eq!(bounds, expected, "{name:?}");
        let fixed: Vec<bool> = model.parameters.iter().map(|p| p.fixed).collect();
        let expected: Vec<bool> =
            reference["fixed"].as_array().unwrap().iter().map(|x| x.as_bool().unwrap()).collect();
        assert_eq!(fixed, expected, "{name:?}");

        assert_eq!(model.observed.main, numbers(&reference["observed_data"]), "{name:?}");
        let aux = numbers(&reference["auxdata"]);
        assert_eq!(model.observed.aux.len(), aux.len(), "{name:?}");
        for (ours, theirs) in model.observed.aux.iter().zip(&aux) {
            // pyhf computes squares by pow, so the last digit may differ.
            assert!((ours - theirs).abs() <= 2.0 * f64::EPSILON * theirs.abs(), "{name:?}: {ours} {theirs}");
        }
        let constrained = model.parameters.iter().filter_map(|p| p.constraint.aux());
        assert!(constrained.eq(0..aux.len()), "{name:?}: auxiliary data follow the parameters");

        assert_eq!(
            model.poi().map(|i| model.parameters[i].name.as_str()),
            reference["poi"].as_str(),
            "{name:?}"
        );
        let channels: Vec<&str> = model.channels.iter().map(|c| c.name.as_str()).collect();
        let expected: Vec<&str> = reference["channels"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| c["name"].as_str().unwrap_or_else(|| c.as_str().unwrap()))
            .collect();
        assert_eq!(channels, expected, "{name:?}");
        assert!(model.parameters.iter().all(|p| match p.constraint {
            Constraint::Gaussian { sigma, .. } => sigma > 0.0,
            Constraint::Poisson { tau, .. } => tau > 0.0,
            Constraint::None => true,
        }));
        seen += 1;
    }
    assert!(seen >= 9, "only {seen} reference files in {}", dir.display());
}
