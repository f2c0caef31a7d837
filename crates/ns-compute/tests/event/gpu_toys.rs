//! Compares toys of event models that are drawn and fitted by the CUDA kernels, compiled for the CPU, with the toys of
//! the CPU code.
#![cfg(feature = "cuda-on-host")]

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::event_models::{Case, cases, constrained, gaussian_on_exponential};
use ns_compute::CpuSession;
use ns_compute::device::host::open_events;
use ns_core::{
    Control, Data, Drawn, Execution, FitFailure, FitRequest, FitTask, LeftToCpu, Observer, OutcomeParts,
    Search, Session, SessionError, Start, TaskOutcome, ToySource,
};

/// Names of the models whose toys the CPU makes, because a density contains a function for which the kernels have no
/// code, or the data are a histogram.
const ON_CPU: [&str; 7] = [
    "voigt",
    "decay",
    "oscillation",
    "landau",
    "landau with a resolution",
    "histogram data",
    "histogram data, not extended",
];
const UNCERTAINTIES: OutcomeParts = OutcomeParts { uncertainties: true, covariance: false, inverse: false };

fn execution(threads: usize) -> Execution {
    Execution { threads, ..Execution::default() }
}

/// Returns two requests: a fit in which all parameters are free, and a fit with the first parameter fixed. The second
/// fit starts where the first fit ended.
fn requests(truth: &[f64]) -> Vec<FitRequest> {
    let start = Start::At(Arc::from(truth));
    let free = FitRequest { start, search: Search::Local, ..FitRequest::default() };
    let fixed = FitRequest { start: Start::Earlier(0), fixed: vec![(0, truth[0])], ..free.clone() };
    vec![free, fixed]
}

fn source(case: &Case, session: &dyn Session) -> Arc<ToySource> {
    session.toy_source(&case.truth(), &Data::observed(), 5, 2).unwrap()
}

fn task(case: &Case, source: &Arc<ToySource>, toys: Range<u64>) -> FitTask {
    let data = Data::observed().with(Drawn { source: Arc::clone(source), toys });
    FitTask { data, fits: requests(&case.truth()), cancel: None }
}

fn fit(session: &dyn Session, case: &Case, toys: Range<u64>, wanted: OutcomeParts) -> Vec<TaskOutcome> {
    let mut outcomes = Vec::new();
    let task = task(case, &source(case, session), toys);
    session.fit_batch(&[task], wanted, Control::default(), &mut outcomes).unwrap();
    outcomes
}

/// Compares the outcomes of fits on two devices. The test statistic of a toy, i.e. twice the difference of `-ln L`
/// between its two fits, must agree within 1e-8. The parameters must agree within 1e-6 standard deviations, and the distance
/// that the certificates allow.
fn compare(case: &Case, got: &[TaskOutcome], want: &[TaskOutcome]) {
    assert_eq!(got.len(), want.len());
    for (toy, (got, want)) in got.iter().zip(want).enumerate() {
        let place = format!("{}, toy {toy}", case.name);
        for (got, want) in got.fits.iter().zip(&want.fits) {
            let (got, want) = match (got, want) {
                (Ok(got), Ok(want)) => (got, want),
                (got, want) => {
                    assert_eq!(got.as_ref().err(), want.as_ref().err(), "{place}");
                    continue;
                }
            };
            assert_eq!(got.status, want.status, "{place}");
            assert!(
                (got.nll - want.nll).abs() <= 1e-10 + 1e-12 * want.nll.abs(),
                "{place}: {} {}",
                got.nll,
                want.nll
            );
            // Where no step lowers `-ln L`, a fit may end this far from the minimum.
            let left = (2.0 * got.certificate.edm.max(want.certificate.edm)).sqrt();
            for (p, (x, y)) in got.parameters.iter().zip(&want.parameters).enumerate() {
                let Some(sigma) = want.uncertainties.get(p).copied().flatten() else { continue };
                assert!(
                    (x - y).abs() <= (1e-6 + 2.0 * left) * sigma.max(1e-3),
                    "{place}, parameter {p}: {x} {y} +- {sigma}"
                );
                let other = got.uncertainties[p].unwrap();
                assert!(
                    (other / sigma - 1.0).abs() <= 1e-6 + left,
                    "{place}, parameter {p}: {other} {sigma}"
                );
            }
        }
        let statistic = |outcome: &TaskOutcome| {
            let nll =
                |i: usize| outcome.fits[i].as_ref().ok().filter(|fit| fit.converged()).map(|fit| fit.nll);
            Some(2.0 * (nll(1)? - nll(0)?))
        };
        if let (Some(got), Some(want)) = (statistic(got), statistic(want)) {
            assert!((got - want).abs() <= 1e-8, "{place}: {got} {want}");
        }
    }
}

#[test]
fn toys_of_every_density_are_those_of_the_cpu() {
    let mut on_cpu = Vec::new();
    for case in cases().into_iter().chain([constrained()]) {
        let here = CpuSession::open(&case.model, &execution(1)).unwrap();
        let there = open_events(&case.model, &execution(1), usize::MAX).unwrap();
        let got = fit(&there, &case, 3..7, UNCERTAINTIES);
        compare(&case, &got, &fit(&here, &case, 3..7, UNCERTAINTIES));
        if there.left_to_cpu().is_some() {
            on_cpu.push(case.name);
        }
    }
    assert_eq!(on_cpu, ON_CPU);
}

#[test]
fn bits_of_toys_do_not_depend_on_batches_and_threads() {
    for case in [gaussian_on_exponential(5000.0), constrained()] {
        let one = open_events(&case.model, &execution(1), usize::MAX).unwrap();
        let all = fit(&one, &case, 0..150, OutcomeParts::default());
        assert!(all.iter().all(|toy| toy.fits.iter().all(|fit| fit.as_ref().unwrap().converged())));
        assert_eq!(one.left_to_cpu(), None);
        let parts: Vec<TaskOutcome> = [0..1, 1..14, 14..150]
            .into_iter()
            .flat_map(|toys| fit(&one, &case, toys, OutcomeParts::default()))
            .collect();
        assert!(parts == all, "{}", case.name);
        let two = open_events(&case.model, &execution(2), usize::MAX).unwrap();
        assert!(fit(&two, &case, 0..150, OutcomeParts::default()) == all, "{}", case.name);
    }
}

#[test]
fn toys_fit_the_memory_limit_or_are_refused() {
    let case = gaussian_on_exponential(2000.0);
    let all = fit(
        &open_events(&case.model, &execution(1), usize::MAX).unwrap(),
        &case,
        0..60,
        OutcomeParts::default(),
    );
    let limited = |limit: u64| {
        let execution = Execution { memory_limit: Some(limit), ..execution(1) };
        let session = open_events(&case.model, &execution, usize::MAX)?;
        let mut outcomes: Vec<TaskOutcome> = Vec::new();
        let task = task(&case, &source(&case, &session), 0..60);
        session
            .fit_batch(&[task], OutcomeParts::default(), Control::default(), &mut outcomes)
            .map(|()| outcomes)
    };
    // Room for some of the toys, and for not even one.
    assert!(limited(8 << 20).unwrap() == all);
    let refused = limited(16 << 10).unwrap_err();
    assert!(matches!(refused, SessionError::MemoryLimit { .. }), "{refused}");
}

/// An observer that cancels the batch when 1000 or more fits have finished. The field is the batch's cancel flag.
struct Impatient<'a>(&'a AtomicBool);

impl Observer for Impatient<'_> {
    fn progress(&self, done: usize, _total: usize) {
        self.0.store(done >= 1000, Ordering::Relaxed);
    }
}

#[test]
fn a_cancelled_batch_keeps_finished_fits() {
    let case = gaussian_on_exponential(1000.0);
    let there = open_events(&case.model, &execution(1), usize::MAX).unwrap();
    let (cancel, mut outcomes) = (AtomicBool::new(false), Vec::<TaskOutcome>::new());
    let observer = Impatient(&cancel);
    let control = Control { observer: Some(&observer), cancel: Some(&cancel), task: None };
    let task = task(&case, &source(&case, &there), 0..2000);
    there.fit_batch(&[task], OutcomeParts::default(), control, &mut outcomes).unwrap();
    let whole = outcomes.iter().filter(|toy| toy.fits.iter().all(Result::is_ok)).count();
    assert!((50..2000).contains(&whole), "{whole}");
    let cancelled = |fit: &Result<_, FitFailure>| matches!(fit, Err(FitFailure::Cancelled));
    assert!(outcomes.iter().any(|toy| toy.fits.iter().all(cancelled)));
}

#[test]
fn toys_with_many_events_are_left_to_the_cpu() {
    let case = gaussian_on_exponential(40_000.0);
    let here = CpuSession::open(&case.model, &execution(1)).unwrap();
    let there = open_events(&case.model, &execution(1), usize::MAX).unwrap();
    let (got, want) = (fit(&there, &case, 0..2, UNCERTAINTIES), fit(&here, &case, 0..2, UNCERTAINTIES));
    assert!(got == want);
    assert_eq!(there.left_to_cpu(), Some(LeftToCpu::FewEvents));
}
