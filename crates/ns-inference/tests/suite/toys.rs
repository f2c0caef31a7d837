//! Tests that results of toys do not depend on threads, batches, shards or interruptions, and that errors name the
//! cause.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ns_core::{Control, Execution, FitStatus, Model, Observer, OutcomeParts, Reason, Search, Session};
use ns_inference::toys::{
    FitToyRow, FitToysOptions, FitToysTest, GeneratingPoint, HypotestToysOptions, Hypothesis, Shard, Summary,
    ToyRow, ToyStatus, ToyTest, hypotest_toys,
};
use ns_inference::{FitOptions, InferenceError, TestStatistic, open_session};
use ns_translate::pyhf::{ModelOptions, Workspace};

fn load(name: &str) -> Model {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name);
    Workspace::from_path(path).unwrap().model(&ModelOptions::default()).unwrap()
}

fn open(model: &Model, threads: usize) -> std::sync::Arc<dyn Session> {
    std::sync::Arc::from(open_session(model, &Execution { threads, ..Execution::default() }).unwrap())
}

fn rows(model: &Model, threads: usize, options: &HypotestToysOptions) -> Vec<ToyRow> {
    let session = open(model, threads);
    let test = ToyTest::prepare(model, session.as_ref(), 1.0, options, Control::default()).unwrap();
    let mut rows: Vec<ToyRow> = Vec::new();
    let run = test.run(&test.ranges(), Control::default(), &mut rows).unwrap();
    assert_eq!((run.n_rows, run.interrupted), (rows.len() as u64, false));
    rows
}

/// The row of a toy with its numbers as bits: hypothesis, index, test statistic, best-fit `mu` and status.
type Bits = (Hypothesis, u64, Option<u64>, Option<u64>, ToyStatus);

fn bits(rows: &[ToyRow]) -> Vec<Bits> {
    rows.iter()
        .map(|r| (r.hypothesis, r.index, r.statistic.map(f64::to_bits), r.mu_hat.map(f64::to_bits), r.status))
        .collect()
}

#[test]
fn rows_have_the_same_bits_for_any_threads_batches_and_shards() {
    for (name, statistic) in
        [("simple_workspace.json", TestStatistic::Qtilde), ("all_modifiers.json", TestStatistic::Q)]
    {
        let model = load(name);
        let options = HypotestToysOptions::default().statistic(statistic).n_toys(300).seed(7);
        let whole = rows(&model, 1, &options);
        assert_eq!(whole.len(), 600);
        assert!(whole.iter().all(|r| r.status == ToyStatus::Converged), "{name}");
        for threads in [2, 7] {
            assert_eq!(bits(&rows(&model, threads, &options)), bits(&whole), "{name}, {threads} threads");
        }
        for batch in [1, 17, 64, 1000] {
            let options = options.clone().batch(Some(batch));
            assert_eq!(bits(&rows(&model, 2, &options)), bits(&whole), "{name}, batches of {batch}");
        }
        for count in [3, 10] {
            let mut parts: Vec<ToyRow> = (1..=count)
                .flat_map(|index| rows(&model, 1, &options.clone().shard(Shard { index, count })))
                .collect();
            parts.sort_by_key(|r| (r.hypothesis, r.index));
            assert_eq!(bits(&parts), bits(&whole), "{name}, {count} shards");
        }
    }
}

#[test]
fn a_header_taken_up_elsewhere_gives_the_same_rows_and_the_same_answer() {
    let model = load("simple_workspace.json");
    let session = open(&model, 1);
    let fit = FitOptions::default().fix("signal_theory", 0.3);
    let options = HypotestToysOptions::default().fit(fit).n_toys(200).seed(3).expected_set(true);
    let control = Control::default();
    let whole = hypotest_toys(&model, session.as_ref(), 1.0, &options, control).unwrap();

    let test = ToyTest::prepare(&model, session.as_ref(), 1.0, &options, control).unwrap();
    let text = serde_json::to_string(test.header()).unwrap();
    let mut summary = Summary::new(test.header()).expected_set(true);
    for (hypothesis, range) in [
        (Hypothesis::Signal, 90..200),
        (Hypothesis::Background, 0..33),
        (Hypothesis::Signal, 0..90),
        (Hypothesis::Background, 33..200),
    ] {
        let elsewhere = open(&model, 2);
        let header: ns_inference::toys::ToyHeader = serde_json::from_str(&text).unwrap();
        assert_eq!(&header, test.header());
        let part = ToyTest::from_header(&model, elsewhere.as_ref(), header, control).unwrap();
        let run = part.run(&[(hypothesis, range)], control, &mut summary).unwrap();
        assert!(!run.interrupted);
    }
    let merged = summary.finish();
    assert_eq!((merged.cls, merged.clsb, merged.clb), (whole.cls, whole.clsb, whole.clb));
    assert_eq!((merged.cls_error, &merged.expected_set), (whole.cls_error, &whole.expected_set));
    assert_eq!(merged.n_toys, whole.n_toys);
    // Parameters that are fixed in the options are also fixed in the fits of toys. The result changes if they are
    // free.
    let free =
        hypotest_toys(&model, session.as_ref(), 1.0, &options.clone().fit(FitOptions::default()), control);
    assert_ne!(free.unwrap().expected_set, whole.expected_set);
}

#[test]
fn toys_of_another_run_are_named() {
    let model = load("simple_workspace.json");
    let session = open(&model, 1);
    let header = |mu: f64, options: &HypotestToysOptions| {
        ToyTest::prepare(&model, session.as_ref(), mu, options, Control::default()).unwrap().header().clone()
    };
    let options = HypotestToysOptions::default().n_toys(10);
    let ours = header(1.0, &options);
    assert_eq!(ours.compatible(&header(1.0, &options.clone().shard(Shard { index: 2, count: 3 }))), Ok(()));
    let mut near = ours.clone();
    near.point_b[1] += 1e-7 * ours.origin.sigmas[1];
    near.q_obs += 1e-10;
    assert_eq!(ours.compatible(&near), Ok(()));
    let mut far = ours.clone();
    far.point_sb[1] += 1e-5 * ours.origin.sigmas[1];
    let others = [
        (header(1.1, &options), "the tested value is 1 in one and 1.1"),
        (header(1.0, &options.clone().seed(1)), "the seed is 0 in one and 1"),
        (header(1.0, &options.clone().n_toys(11)), "the number of toys"),
        (
            header(1.0, &options.clone().statistic(TestStatistic::Q)),
            "the statistic is qtilde in one and q in",
        ),
        (
            header(1.0, &options.clone().fit(FitOptions::default().fix("signal_theory", 0.0))),
            "fixed parameters",
        ),
        (far, "the generating point (sb) of parameter"),
    ];
    for (other, what) in others {
        let message = ours.compatible(&other).unwrap_err().to_string();
        assert!(message.contains(what), "{message}");
    }
    let other = load("many_bins.json");
    let session = open(&other, 1);
    let refused = ToyTest::from_header(&other, session.as_ref(), ours, Control::default());
    assert!(
        matches!(refused.err(), Some(InferenceError::ForeignToys { what, .. }) if what.contains("digest"))
    );
}

/// Observer that stops the work after `fits` fits.
struct StopAfter<'a> {
    fits: usize,
    flag: &'a AtomicBool,
    last: AtomicUsize,
}

impl Observer for StopAfter<'_> {
    fn progress(&self, done: usize, total: usize) {
        assert!(done <= total, "{done} of {total}");
        self.last.fetch_max(done, Ordering::Relaxed);
        if done >= self.fits {
            self.flag.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn an_interrupted_run_hands_over_complete_rows_and_can_go_on() {
    let model = load("simple_workspace.json");
    let options = HypotestToysOptions::default().n_toys(2000).seed(11).batch(Some(400));
    let whole = rows(&model, 2, &options);
    let session = open(&model, 2);
    let test = ToyTest::prepare(&model, session.as_ref(), 1.0, &options, Control::default()).unwrap();
    let flag = AtomicBool::new(false);
    let observer = StopAfter { fits: 1500, flag: &flag, last: AtomicUsize::new(0) };
    let control = Control { observer: Some(&observer), cancel: Some(&flag), task: None };
    let mut done: Vec<ToyRow> = Vec::new();
    let run = test.run(&test.ranges(), control, &mut done).unwrap();
    assert!(run.interrupted);
    assert_eq!(run.n_rows, done.len() as u64);
    assert!(done.len() < 4000 && done.len() >= 400, "{}", done.len());
    assert_eq!(bits(&done), bits(&whole[..done.len()]), "complete up to where it stopped");
    let next = done.len() as u64;
    let rest = [
        (Hypothesis::Background, next.min(2000)..2000),
        (Hypothesis::Signal, next.saturating_sub(2000)..2000),
    ];
    let run = test.run(&rest, Control::default(), &mut done).unwrap();
    assert!(!run.interrupted);
    assert_eq!(bits(&done), bits(&whole));

    // The result counts the toys that have finished.
    let flag = AtomicBool::new(false);
    let observer = StopAfter { fits: 1500, flag: &flag, last: AtomicUsize::new(0) };
    let control = Control { observer: Some(&observer), cancel: Some(&flag), task: None };
    let result = hypotest_toys(&model, session.as_ref(), 1.0, &options, control).unwrap();
    assert!(result.interrupted && result.n_toys.b > 0);
    assert!(result.warnings.iter().any(|w| w.starts_with("interrupted")));
    let flag = AtomicBool::new(true);
    let control = Control { observer: None, cancel: Some(&flag), task: None };
    let nothing = hypotest_toys(&model, session.as_ref(), 1.0, &options, control);
    assert_eq!(nothing.err(), Some(InferenceError::Cancelled));
}

#[test]
fn what_cannot_be_asked_is_refused_with_a_reason() {
    let model = load("simple_workspace.json");
    let session = open(&model, 1);
    let ask = |options: HypotestToysOptions, mu: f64| {
        hypotest_toys(&model, session.as_ref(), mu, &options, Control::default()).unwrap_err().to_string()
    };
    let options = HypotestToysOptions::default().n_toys(5);
    assert!(ask(options.clone().n_toys(0), 1.0).contains("ask for 1 to"));
    assert!(ask(options.clone().n_toys(u64::MAX), 1.0).contains("ask for 1 to"));
    assert!(ask(options.clone(), f64::NAN).contains("finite"));
    assert!(ask(options.fit(FitOptions::default().fix("mu", 1.0)), 1.0).contains("fixed"));

    let background = load("background_only.json");
    let session = open(&background, 1);
    let options = HypotestToysOptions::default();
    let refused = hypotest_toys(&background, session.as_ref(), 1.0, &options, Control::default());
    assert!(matches!(refused, Err(InferenceError::NoPoi { .. })), "{refused:?}");
}

#[test]
fn q0_draws_its_tested_hypothesis_without_a_signal() {
    let model = load("simple_workspace.json");
    let session = open(&model, 1);
    let options = HypotestToysOptions::default().statistic(TestStatistic::Q0).n_toys(400);
    let test = ToyTest::prepare(&model, session.as_ref(), 1.0, &options, Control::default()).unwrap();
    let (header, poi) = (test.header(), test.header().poi_index);
    assert_eq!((header.mu_test, header.point_sb[poi], header.point_b[poi]), (0.0, 0.0, 1.0));
    assert!(header.warnings.iter().any(|w| w.contains("q0 tests mu = 0, not 1")));
    let result = hypotest_toys(&model, session.as_ref(), 0.0, &options, Control::default()).unwrap();
    assert!(result.cls.is_none() && result.clsb.is_some_and(|p| p < result.clb.unwrap()));
}

fn study(model: &Model, threads: usize, options: &FitToysOptions) -> Vec<FitToyRow> {
    let session = open(model, threads);
    let test = FitToysTest::prepare(model, session.as_ref(), options, Control::default()).unwrap();
    let mut rows: Vec<FitToyRow> = Vec::new();
    let run = test.run(&test.ranges(), Control::default(), &mut rows).unwrap();
    assert!(!run.interrupted);
    rows
}

#[test]
fn rows_of_a_study_have_the_same_bits_however_they_are_run() {
    let model = load("simple_workspace.json");
    let params = vec!["background_norm".to_owned(), "mu".to_owned()];
    let options = FitToysOptions::default().point(GeneratingPoint::Init).params(params).n_toys(300).seed(5);
    let bits = |rows: &[FitToyRow]| -> Vec<Vec<u64>> {
        rows.iter()
            .map(|r| {
                let numbers =
                    r.values.iter().copied().chain(r.nll).chain(r.uncertainties.iter().flatten().copied());
                std::iter::once(r.index).chain(numbers.map(f64::to_bits)).collect()
            })
            .collect()
    };
    let whole = study(&model, 1, &options);
    assert!(whole.iter().all(|r| r.values.len() == 2 && r.uncertainties.len() == 2 && r.nll.is_some()));
    assert_eq!(bits(&study(&model, 7, &options.clone().batch(Some(13)))), bits(&whole));
    let parts: Vec<FitToyRow> = (1..=3)
        .flat_map(|index| study(&model, 2, &options.clone().shard(Shard { index, count: 3 })))
        .collect();
    assert_eq!(bits(&parts), bits(&whole));

    let session = open(&model, 1);
    let prepare = |options: FitToysOptions| {
        FitToysTest::prepare(&model, session.as_ref(), &options, Control::default())
            .err()
            .map(|e| e.to_string())
    };
    let says = |message: Option<String>, what: &str| message.is_some_and(|m| m.contains(what));
    assert!(says(prepare(options.clone().params(vec!["nu".into()])), "did you mean"));
    assert!(says(
        prepare(options.clone().point(GeneratingPoint::At(vec![1.0].into()))),
        "the generating point has 1 elements"
    ));
    let held = FitOptions::default().fix("mu", 1.0);
    assert!(says(prepare(options.clone().fit(held)), "nothing to study"));
}

/// Fits toys of a strongly nonlinear model with the local search (a single descent), the standard search and the
/// thorough search. A search of higher effort never ends at a higher minimum. For some toys, the standard search
/// finds a lower minimum than the local search.
#[test]
fn the_search_of_toys_is_the_one_asked_for() {
    let model = load("strongly_bent.json");
    let session = open(&model, 2);
    let nll = |search: Search, n_toys: u64| -> Vec<Option<f64>> {
        let options =
            FitToysOptions::default().fit(FitOptions::default().search(search)).n_toys(n_toys).seed(2);
        let test = FitToysTest::prepare(&model, session.as_ref(), &options, Control::default()).unwrap();
        assert_eq!(test.header().origin.search, search.name());
        let mut rows: Vec<FitToyRow> = Vec::new();
        let run = test.run(&test.ranges(), Control::default(), &mut rows).unwrap();
        assert_eq!(run.n_rows, n_toys);
        rows.iter().map(|r| r.nll.filter(|_| r.status == ToyStatus::Converged)).collect()
    };
    let count = |low: &[Option<f64>], high: &[Option<f64>], lower: fn(f64, f64) -> bool| {
        low.iter().zip(high).filter(|pair| matches!(pair, (Some(a), Some(b)) if lower(*a, *b))).count()
    };
    let (local, standard) = (nll(Search::Local, 200), nll(Search::Standard, 200));
    let thorough = nll(Search::Thorough, 8);
    let below = |a: f64, b: f64| a < b - 1e-6;
    assert!(count(&standard, &local, below) > 0, "the standard search finds lower minima");
    assert_eq!(count(&local, &standard, below), 0);
    assert_eq!(count(&standard, &thorough, below), 0);
}

/// In some toys `-ln L` falls without limit. With uncertainties, another descent of such a toy used to end in a local
/// minimum, so its status depended on what was wanted.
#[test]
fn the_status_of_a_toy_does_not_depend_on_uncertainties() {
    let model = load("strongly_bent.json");
    let here = compare_status(&model, open(&model, 1).as_ref());
    assert!(here.len() >= 500);
    #[cfg(feature = "cuda-on-host")]
    {
        let session = ns_compute::device::host::open(&model, &Execution::default()).unwrap();
        let there = compare_status(&model, &session);
        let differ = here.iter().zip(&there).filter(|(a, b)| a != b).count();
        assert!(here.len() == there.len() && differ <= 2, "{differ} of {} fits differ", here.len());
    }
}

/// A fit of a toy whose `-ln L` falls without limit was fitted again on the CPU if thread blocks shared its further starting
/// points, which they do in small batches.
#[cfg(feature = "cuda-on-host")]
#[test]
fn toys_without_a_minimum_have_the_same_bits_in_small_batches() {
    let model = load("strongly_bent.json");
    let session = ns_compute::device::host::open(&model, &Execution::default()).unwrap();
    let options = HypotestToysOptions::default().seed(2);
    let test = ToyTest::prepare(&model, &session, 1.0, &options, Control::default()).unwrap();
    let fit = |toys: std::ops::Range<u64>| -> Vec<String> {
        let task = test.task(Hypothesis::Background, toys).unwrap();
        let mut outcomes = Vec::new();
        session.fit_batch(&[task], OutcomeParts::default(), Control::default(), &mut outcomes).unwrap();
        let fits = outcomes.into_iter().flat_map(|outcome| outcome.fits);
        fits.map(|fit| {
            fit.map_or_else(|why| format!("{why:?}"), |fit| format!("{:?} {}", fit.status, fit.nll))
        })
        .collect()
    };
    let together = fit(0..400);
    assert!(together.iter().filter(|fit| fit.contains("Unbounded")).count() >= 5);
    let alone: Vec<String> = (0..400).flat_map(|toy| fit(toy..toy + 1)).collect();
    assert_eq!(together, alone);
}

/// Fits toys with and without uncertainties. Every toy must have the same status, and some of them have no minimum.
/// Returns the status of each fit.
fn compare_status(model: &Model, session: &dyn Session) -> Vec<FitStatus> {
    let options = HypotestToysOptions::default().seed(2);
    let test = ToyTest::prepare(model, session, 1.0, &options, Control::default()).unwrap();
    let task = test.task(Hypothesis::Background, 0..400).unwrap();
    let fits = |uncertainties: bool| -> Vec<FitStatus> {
        let mut outcomes = Vec::new();
        let wanted = OutcomeParts { uncertainties, ..OutcomeParts::default() };
        session.fit_batch(std::slice::from_ref(&task), wanted, Control::default(), &mut outcomes).unwrap();
        let fits = outcomes.into_iter().flat_map(|outcome| outcome.fits);
        fits.filter_map(|fit| fit.ok().map(|fit| fit.status)).collect()
    };
    let (with, without) = (fits(true), fits(false));
    let falls = FitStatus::NotConverged(Reason::Unbounded);
    assert!(with.contains(&falls));
    assert_eq!(with, without);
    with
}
