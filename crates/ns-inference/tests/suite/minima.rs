//! Tests that fits of random, strongly nonlinear models end in the lowest known minimum. This is the lowest result of
//! 50 descents from random starting points (`cargo run --release -p ns-inference --example check_minima -- INDEX 1
//! --codes smooth --show`).
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

#[path = "../../examples/check_minima/nonlinear_models.rs"]
#[allow(dead_code)]
mod nonlinear_models;

use std::path::Path;

use ns_core::{
    Control, Data, Execution, FitOutcome, FitRequest, FitTask, Interpolation, OutcomeParts, Search,
};
use ns_inference::open_session;
use ns_translate::pyhf::{ModelOptions, Workspace};
use serde_json::Value;

/// Largest difference in `-ln L` at which two minima count as the same. It is 1e-6 in `twice_nll`, i.e. `-2 ln L`.
const LOWER: f64 = 5e-7;

/// Makes a fit of a workspace. The fit must converge.
fn fit(workspace: Value, interpolation: Interpolation, search: Search) -> FitOutcome {
    let options = ModelOptions { interpolation, ..ModelOptions::default() };
    let model = Workspace::from_value(workspace).unwrap().model(&options).unwrap();
    let session = open_session(&model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    let request = FitRequest { search, ..FitRequest::default() };
    let task = FitTask { data: Data::observed(), fits: vec![request], cancel: None };
    let mut outcomes = Vec::new();
    session.fit_batch(&[task], OutcomeParts::default(), Control::default(), &mut outcomes).unwrap();
    let fit = outcomes.remove(0).fits.remove(0).unwrap();
    assert!(fit.converged(), "no minimum");
    fit
}

/// Makes a fit of model `index` and returns its `-ln L`.
fn ends_at(index: u64, interpolation: Interpolation, search: Search) -> f64 {
    fit(nonlinear_models::workspace(index), interpolation, search).nll
}

#[test]
fn a_search_of_a_published_model_that_finds_nothing_is_short() {
    let Some(folder) = std::env::var_os("NEXTSTAT_REFERENCE_DIR") else {
        eprintln!("SKIPPED: set NEXTSTAT_REFERENCE_DIR to the reference folder to run this test");
        return;
    };
    for name in ["susy_2018_16_sleptons_full_sb.json", "atlas_ttz_3l.json"] {
        let text = std::fs::read(Path::new(&folder).join("cliffs").join(name)).unwrap();
        let workspace: Value = serde_json::from_slice(&text).unwrap();
        let [local, standard] = [Search::Local, Search::Standard]
            .map(|search| fit(workspace.clone(), Interpolation::default(), search));
        assert!((local.nll - standard.nll).abs() < LOWER, "{name}");
        assert_eq!(local.n_search_iterations, 0, "{name}");
        assert_eq!(local.n_iterations, standard.n_iterations, "{name}");
        let [few, more] = [local.n_iterations, standard.n_search_iterations];
        assert!(more <= 4 * few, "{name}: {few} iterations, {more} of the search");
    }
}

fn hold(interpolation: Interpolation, search: Search, models: &[(u64, f64)]) {
    for &(index, lowest) in models {
        let end = ends_at(index, interpolation, search);
        assert!(end <= lowest + LOWER, "model {index} ends {:.1e} above a known minimum", end - lowest);
    }
}

#[test]
fn other_values_of_free_factors_lead_to_lower_minima() {
    hold(Interpolation::SMOOTH, Search::Standard, &[(1178, 77.78372245996745)]);
}

#[test]
fn combinations_of_parameters_lead_to_lower_minima() {
    hold(Interpolation::PIECEWISE, Search::Standard, &[(223, 82.1522011407878)]);
}

#[test]
fn combinations_around_other_minima_lead_to_lower_minima() {
    let smooth = [(1171, 50.63922130170744), (1530, 55.96408265808621), (198, 41.92794275870372)];
    hold(Interpolation::SMOOTH, Search::Standard, &smooth);
    let piecewise = [(1706, 43.691093282459164), (1610, 76.108410230337)];
    hold(Interpolation::PIECEWISE, Search::Standard, &piecewise);
}

#[test]
fn a_minimum_is_found_where_most_descents_fall_without_end() {
    hold(Interpolation::SMOOTH, Search::Standard, &[(49, 94.32185642121439), (3204, 75.96836749695467)]);
    hold(Interpolation::PIECEWISE, Search::Standard, &[(2016, 107.24641158005156)]);
}

#[test]
fn thorough_searches_find_what_two_of_fifty_starts_find() {
    hold(Interpolation::SMOOTH, Search::Thorough, &[(1331, 91.7580647814992), (1573, 68.79836230968256)]);
}
