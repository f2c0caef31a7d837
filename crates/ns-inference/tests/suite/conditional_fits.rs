//! Tests that conditional fits of all analyses end in the minimum that a single fit with the same parameters fixed
//! finds. The expected results come from exact minimisers with many starting points.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use std::path::PathBuf;

use ns_core::{Control, Execution, Model, Session};
use ns_inference::ranking::Side;
use ns_inference::{
    FitOptions, HypotestOptions, LimitOptions, RankingOptions, ScanAxis, ScanOptions, fit, hypotest,
    open_session, ranking, scan, upper_limit,
};
use ns_translate::pyhf::{ModelOptions, Workspace};

type Opened = (Model, Box<dyn Session>);

/// Reads a model from the reference folder and opens a session. Returns `None` if the reference folder is not set.
fn read(name: &str) -> Option<Opened> {
    let Some(folder) = std::env::var_os("NEXTSTAT_REFERENCE_DIR") else {
        eprintln!("SKIPPED: set NEXTSTAT_REFERENCE_DIR to the reference folder to run this test");
        return None;
    };
    let path = PathBuf::from(folder).join("repro/binned").join(name);
    let model = Workspace::from_path(path).unwrap().model(&ModelOptions::default()).unwrap();
    let session = open_session(&model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    Some((model, session))
}

fn twice_nll((model, session): &Opened, name: &str, value: f64) -> f64 {
    let options = FitOptions::default().fix(name, value).uncertainties(false);
    fit(model, session.as_ref(), &options, Control::default()).unwrap().twice_nll
}

fn close(found: f64, right: f64, tolerance: f64) {
    assert!((found - right).abs() <= tolerance, "{found}, not {right}");
}

#[test]
fn refits_of_rankings_are_those_of_single_fits() {
    let Some(opened) = read("ranking_refit_higher_minimum.json") else { return };
    let (model, session) = &opened;
    let result = ranking(model, session.as_ref(), &RankingOptions::default(), Control::default()).unwrap();
    let entry = result.ranking.iter().find(|entry| entry.name == "alpha_1").unwrap();
    close(entry.impacts.get(Side::Down).delta.unwrap(), 0.01487, 1e-5);
}

#[test]
fn prefit_refits_of_rankings_are_those_of_single_fits() {
    let Some(opened) = read("ranking_prefit_65_above.json") else { return };
    let (model, session) = &opened;
    let options = RankingOptions::default().prefit(true);
    let result = ranking(model, session.as_ref(), &options, Control::default()).unwrap();
    let entry = result.ranking.iter().find(|entry| entry.name == "alpha_1").unwrap();
    close(entry.impacts.get(Side::PrefitDown).delta.unwrap(), -1.563, 1e-3);
}

#[test]
fn a_scan_of_one_point_is_a_single_fit() {
    let Some(opened) = read("scan_point_above_fit.json") else { return };
    let (model, session) = &opened;
    let options = ScanOptions::new(ScanAxis::default().values(vec![4.5495]));
    let result = scan(model, session.as_ref(), &options, Control::default()).unwrap();
    close(result.twice_delta_nll[0].unwrap(), 21.160_25, 1e-4);
    close(result.twice_nll + result.twice_delta_nll[0].unwrap(), twice_nll(&opened, "mu", 4.5495), 1e-6);
    let options = HypotestOptions::default();
    let test = hypotest(model, session.as_ref(), 4.5495, &options, Control::default()).unwrap();
    close(test.q_obs, result.twice_delta_nll[0].unwrap(), 1e-6);
}

/// The Asimov statistic vanishes at every tested value, because other parameters undo the effect of the signal. CLs then
/// does not exist, and neither does a limit.
#[test]
fn a_limit_without_cls_is_missing_and_says_why() {
    let Some((model, session)) = read("limit_where_q_asimov_is_0.json") else { return };
    let options = LimitOptions::default();
    let result = upper_limit(&model, session.as_ref(), &options, Control::default()).unwrap();
    assert_eq!(result.observed, None);
    assert!(result.expected.iter().all(Option::is_none), "{:?}", result.expected);
    for which in ["the observed limit is null: q_asimov is 0", "the median expected limit"] {
        assert!(result.warnings.iter().any(|w| w.contains(which)), "{:?}", result.warnings);
    }
}
