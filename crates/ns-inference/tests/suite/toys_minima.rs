//! Tests that fits of toys of strongly nonlinear models end in the lowest minimum. In the past, fits from
//! other starting points found lower minima for these toys. Also tests toys whose free fit has no minimum: the row
//! of such a toy must give the reason.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ns_core::random::{Normal, Stream};
use ns_core::{
    Control, Data, Execution, FitOutcome, FitRequest, FitTask, Model, OutcomeParts, Search, Seen, Session,
    Start, TaskOutcome,
};
use ns_inference::open_session;
use ns_inference::toys::{HypotestToysOptions, Hypothesis, ToyRow, ToyStatus, ToyTest};
use ns_translate::pyhf::{ModelOptions, Workspace};

/// Number of starting points from which each fit is repeated. They are chosen as in `examples/check_toys.rs`.
const STARTS: u8 = 3;

fn run(session: &dyn Session, tasks: &[FitTask]) -> Vec<TaskOutcome> {
    let mut outcomes = Vec::new();
    session.fit_batch(tasks, OutcomeParts::default(), Control::default(), &mut outcomes).unwrap();
    outcomes
}

/// Returns another starting point, near `point`. Constrained parameters are moved by random multiples of their
/// pre-fit widths, and free factors are scaled.
fn elsewhere(model: &Model, point: &[f64], key: u64, toy: u64, start: u8) -> Arc<[f64]> {
    let (unit, stream) = (Normal::new(0.0, 1.0).unwrap(), Stream::new(key, toy, start));
    let moved = model.parameters.iter().zip(point).enumerate().map(|(p, (parameter, at))| {
        let random = unit.draw(&stream, p as u32);
        let to = match parameter.constraint.prefit_sigma() {
            _ if parameter.fixed => return *at,
            Some(sigma) => at + sigma * random,
            None => at * (0.3 * random).exp(),
        };
        to.clamp(parameter.bounds.0, parameter.bounds.1)
    });
    moved.collect()
}

/// Fits the given toys. Then repeats each fit from other starting points, which must not lead to a lower minimum.
/// For at least `common` of the fits, another starting point must lead to the same minimum. Otherwise the test
/// would prove little.
fn end_in_their_lowest_minimum(path: PathBuf, key: u64, toys: [(Hypothesis, &[u64]); 2], common: usize) {
    let model = Workspace::from_path(path).unwrap().model(&ModelOptions::default()).unwrap();
    let session = open_session(&model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    let options = HypotestToysOptions::default();
    let test = ToyTest::prepare(&model, session.as_ref(), 1.0, &options, Control::default()).unwrap();
    let mut same = 0;
    for (hypothesis, toys) in toys {
        let point = test.header().point(hypothesis);
        for &toy in toys {
            let task = test.task(hypothesis, toy..toy + 1).unwrap();
            let Seen::Drawn(drawn) = &task.data.seen else { panic!("toys are drawn") };
            let data: Data = drawn.source.draw(toy).into();
            let first = run(session.as_ref(), std::slice::from_ref(&task)).remove(0);
            for (k, (request, fit)) in task.fits.iter().zip(&first.fits).enumerate() {
                let Some(fit) = fit.as_ref().ok().filter(|fit| fit.converged()) else { continue };
                let again = (0..STARTS).map(|start| FitRequest {
                    start: Start::At(elsewhere(&model, point, key, toy, start)),
                    search: Search::Local,
                    metric: None,
                    single_descent: false,
                    only_if: None,
                    ..request.clone()
                });
                let task = FitTask { data: data.clone(), fits: again.collect(), cancel: None };
                let found = run(session.as_ref(), &[task]).remove(0);
                let sound = |other: &&FitOutcome| other.converged() && other.empty_bins.is_empty();
                let values = found.fits.iter().flatten().filter(sound).map(|other| other.nll);
                let best = values.fold(f64::INFINITY, f64::min);
                let gain = fit.nll - best;
                assert!(gain < 5e-7, "toy {toy} of {hypothesis}, fit {k}: a minimum lower by {gain:.2e}");
                same += usize::from(gain > -5e-7);
            }
        }
    }
    assert!(same >= common, "the other starts reach only {same} of the minima");
}

#[test]
fn toys_far_along_a_free_factor_and_on_the_other_side_of_asymmetric_effects() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/strongly_bent.json");
    let b: &[u64] = &[
        1, 30, 67, 150, 226, 230, 255, 321, 371, 400, 775, 897, 901, 973, 1028, 1330, 1358, 1645, 1733, 1867,
        1983,
    ];
    let sb: &[u64] = &[211, 333, 599, 991, 1011, 1476, 1487, 1526, 1583, 1641, 1786, 1955, 1999];
    end_in_their_lowest_minimum(path, 77, [(Hypothesis::Background, b), (Hypothesis::Signal, sb)], 40);
}

/// Returns the path of a published model with many asymmetric effects. If the reference folder is not set, prints a
/// notice and returns `None`.
fn published() -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("NEXTSTAT_REFERENCE_DIR") else {
        eprintln!("SKIPPED: set NEXTSTAT_REFERENCE_DIR to the reference folder to run this test");
        return None;
    };
    Some(PathBuf::from(folder).join("workspaces/1Lbb_C1N2_700_400.json"))
}

#[test]
fn toys_of_a_published_model_with_many_asymmetric_effects() {
    let Some(path) = published() else { return };
    let b: &[u64] = &[334, 1322, 1430, 1509, 2561, 2597, 2766, 2979, 3877, 3924];
    let sb: &[u64] = &[1136, 1626, 1697, 3291];
    end_in_their_lowest_minimum(path, 1, [(Hypothesis::Background, b), (Hypothesis::Signal, sb)], 18);
}

/// Tests toys whose conditional fit, in which the parameter of interest is fixed, ends at a lower `-ln L` than the
/// free fit. The free fit of these toys has no minimum. A descent from the conditional minimum, with all
/// parameters free, continues without end, to negative expected yields in a bin without counts. At some of the
/// conditional minima this bin still has a positive expected yield.
#[test]
fn toys_whose_conditional_minimum_has_no_free_one_name_the_bins_that_expect_nothing() {
    let Some(path) = published() else { return };
    let model = Workspace::from_path(path).unwrap().model(&ModelOptions::default()).unwrap();
    let session = open_session(&model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    let options = HypotestToysOptions::default();
    let test = ToyTest::prepare(&model, session.as_ref(), 1.0, &options, Control::default()).unwrap();
    for (hypothesis, toys) in
        [(Hypothesis::Background, &[9644, 13404, 13542, 15570][..]), (Hypothesis::Signal, &[11749])]
    {
        for &toy in toys {
            let toy_range = toy..toy + 1;
            let mut rows: Vec<ToyRow> = Vec::new();
            let _ended = test.run(&[(hypothesis, toy_range.clone())], Control::default(), &mut rows).unwrap();
            let row = rows.remove(0);
            assert_eq!(row.status, ToyStatus::NotConverged, "toy {toy}");

            let task = test.task(hypothesis, toy_range).unwrap();
            let Seen::Drawn(drawn) = &task.data.seen else { panic!("toys are drawn") };
            let data: Data = drawn.source.draw(toy).into();
            let fits = run(session.as_ref(), std::slice::from_ref(&task)).remove(0).fits;
            let [Ok(free), Ok(conditional)] = &fits[..] else { panic!("toy {toy}: {fits:?}") };
            assert!(free.converged() && conditional.converged() && conditional.nll < free.nll, "toy {toy}");

            // A fit to the same data, passed as given data, continues the descent far below the saturated model. The
            // saturated model expects exactly the counts.
            let start = Start::At(Arc::from(&conditional.parameters[..]));
            let onwards = FitRequest {
                start,
                search: Search::Local,
                metric: None,
                single_descent: false,
                only_if: None,
                ..task.fits[0].clone()
            };
            let saturated = session.saturated_nll(&data).unwrap().unwrap();
            let fell = run(session.as_ref(), &[FitTask { data, fits: vec![onwards], cancel: None }])
                .remove(0)
                .fits
                .remove(0);
            let fell = fell.unwrap();
            assert!(fell.nll < saturated - 100.0, "toy {toy}: {} above {saturated}", fell.nll - saturated);
            let named = fell.empty_bins.iter().any(|&bin| {
                let (channel, bin) = model.bin_name(bin).unwrap();
                row.reason.contains(&format!("no expected events left in bin {bin} of channel '{channel}'"))
            });
            assert!(named && row.reason.contains("falls without end"), "toy {toy}: {}", row.reason);
        }
    }
}
