//! Checks that models of workspaces are unchanged after they are written as HS3 and read back, apart from the
//! order of parameters.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::PathBuf;

use ns_core::{Constraint, Effect, HistosysCode, Interpolation, Model, NormsysCode};
use ns_translate::pyhf::{ModelOptions, Workspace};
use ns_translate::{ModelSource, hs3};

/// Describes a modifier in a text for comparisons: its effect, and the names of its parameters. `first` is the index
/// of its first parameter.
fn acts(model: &Model, bins: usize, first: usize, effect: &Effect) -> String {
    let n = if effect.per_bin() { bins } else { 1 };
    let names: Vec<&str> = model.parameters[first..first + n].iter().map(|p| p.name.as_str()).collect();
    let what = match effect {
        Effect::NormFactor | Effect::Lumi => "factor".to_owned(),
        Effect::ShapeSys | Effect::StatError | Effect::ShapeFactor => "factors".to_owned(),
        other => format!("{other:?}"),
    };
    format!("{what} {names:?}")
}

/// Returns three properties of a constraint: whether it is Gaussian, its width (for a Poisson constraint, its scale
/// `tau`), and its auxiliary datum.
fn constraint(model: &Model, constraint: Constraint) -> Option<(bool, f64, f64)> {
    match constraint {
        Constraint::None => None,
        Constraint::Gaussian { sigma, aux } => Some((true, sigma, model.observed.aux[aux])),
        Constraint::Poisson { tau, aux } => Some((false, tau, model.observed.aux[aux])),
    }
}

#[test]
fn written_models_are_read_back() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let codes = [
        Interpolation::SMOOTH,
        Interpolation::PIECEWISE,
        Interpolation { normsys: NormsysCode::Code6, histosys: HistosysCode::Code2 },
    ];
    for name in
        ["simple_workspace", "all_modifiers", "several_measurements", "many_bins", "asymmetric", "overrides"]
    {
        for interpolation in codes {
            let workspace = Workspace::from_path(folder.join(format!("{name}.json"))).unwrap();
            let model = workspace.model(&ModelOptions { interpolation, ..ModelOptions::default() }).unwrap();
            let text = hs3::write(&model).unwrap().to_string();
            let again = ModelSource::from_slice(text.as_bytes());
            let again = again.and_then(|source| source.model(&ModelOptions::default()));
            let again = again.unwrap_or_else(|error| panic!("{name}: {error}"));
            // A code is written only if a modifier uses it.
            let uses = |kind: &str| {
                let modifiers = model.channels.iter().flat_map(|c| &c.samples).flat_map(|s| &s.modifiers);
                modifiers.into_iter().any(|m| m.effect.type_name() == kind)
            };
            assert!(!uses("normsys") || again.interpolation.normsys == interpolation.normsys, "{name}");
            assert!(!uses("histosys") || again.interpolation.histosys == interpolation.histosys, "{name}");
            assert!(again.penalties.is_empty(), "{name}: a constraint became a term of its own");
            let poi = |model: &Model| model.poi().map(|i| model.parameters[i].name.clone());
            assert_eq!(poi(&again), poi(&model), "{name}");
            assert_eq!(again.observed.main, model.observed.main, "{name}");
            assert_eq!(again.parameters.len(), model.parameters.len(), "{name}");
            for p in &model.parameters {
                let read = &again.parameters[again.parameter_index(&p.name).unwrap()];
                let (found, right) = ((read.init, read.bounds, read.fixed), (p.init, p.bounds, p.fixed));
                assert_eq!(found, right, "{name}: {}", p.name);
                let found = constraint(&again, read.constraint);
                assert_eq!(found, constraint(&model, p.constraint), "{name}: {}", p.name);
            }
            for (a, b) in again.channels.iter().zip(&model.channels) {
                assert_eq!((&a.name, a.n_bins), (&b.name, b.n_bins));
                for (s, t) in a.samples.iter().zip(&b.samples) {
                    assert_eq!((&s.name, &s.nominal), (&t.name, &t.nominal));
                    for (m, n) in s.modifiers.iter().zip(&t.modifiers) {
                        let right = acts(&model, b.n_bins, n.first, &n.effect);
                        assert_eq!(acts(&again, a.n_bins, m.first, &m.effect), right, "{name}");
                    }
                    assert_eq!(s.modifiers.len(), t.modifiers.len());
                }
            }
        }
    }
}
