//! Compares toys of event models that a GPU draws and fits with the same toys on the CPU, and measures the times of
//! both. Usage: `check_event_toys DEVICE TOYS EVENTS`, where DEVICE is `cuda`, `cuda:I` or `host` (the kernels compiled
//! for the CPU; needs the feature `cuda-on-host`).
//!
//! First prints, for one model of each density, the largest differences of minima, test statistics and parameters. Then
//! prints the times of TOYS toys of model m1 with EVENTS events each, and whether the results have the same bits if the
//! toys are run in batches of other sizes.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

#[path = "../tests/event/event_models/mod.rs"]
mod event_models;
#[path = "../tests/event/events_oracle/mod.rs"]
mod events_oracle;

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use event_models::{Case, cases, constrained, gaussian_on_exponential};
use ns_compute::CpuSession;
use ns_core::{
    Control, Data, Drawn, Execution, FitRequest, FitTask, InverseHessian, Model, OutcomeParts, Search,
    Session, SessionError, Start, TaskOutcome, ToySource,
};

fn open(device: &str, model: &Model, threads: usize) -> Result<Box<dyn Session>, SessionError> {
    let execution = Execution { device: device.parse().unwrap_or_default(), threads, ..Execution::default() };
    if device == "host" {
        #[cfg(feature = "cuda-on-host")]
        return Ok(Box::new(ns_compute::device::host::open_events(model, &execution, usize::MAX)?));
    }
    ns_compute::device::cuda::open(model, &execution)
}

/// Returns the inverse Hessian of the fit to Asimov data. Fits of toys begin with this inverse Hessian.
fn metric(session: &dyn Session, truth: &[f64]) -> Option<InverseHessian> {
    let data = session.asimov(truth, &Data::observed()).unwrap();
    let request =
        FitRequest { start: Start::At(truth.into()), search: Search::Local, ..FitRequest::default() };
    let wanted = OutcomeParts { inverse: true, ..OutcomeParts::default() };
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    let task = FitTask { data, fits: vec![request], cancel: None };
    session.fit_batch(&[task], wanted, Control::default(), &mut outcomes).unwrap();
    outcomes.first()?.fits.first()?.as_ref().ok()?.inverse_hessian()
}

/// Returns the requests for two fits: a fit with all parameters free, and a fit with the first parameter fixed. The
/// second fit starts at the minimum of the first fit.
fn requests(truth: &[f64], metric: Option<InverseHessian>) -> Vec<FitRequest> {
    let free =
        FitRequest { start: Start::At(truth.into()), search: Search::Local, metric, ..FitRequest::default() };
    let start = Start::Earlier(0);
    let fixed = FitRequest { start, fixed: vec![(0, truth[0])], metric: None, ..free.clone() };
    vec![free, fixed]
}

/// Draws and fits toys. Returns their outcomes and the time of the run in seconds.
fn run(
    session: &dyn Session,
    source: &Arc<ToySource>,
    fits: &[FitRequest],
    toys: Range<u64>,
    wanted: OutcomeParts,
) -> (Vec<TaskOutcome>, f64) {
    let data = Data::observed().with(Drawn { source: Arc::clone(source), toys });
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    let began = Instant::now();
    let task = FitTask { data, fits: fits.to_vec(), cancel: None };
    session.fit_batch(&[task], wanted, Control::default(), &mut outcomes).unwrap();
    (outcomes, began.elapsed().as_secs_f64())
}

/// Returns the largest difference of minima of `-ln L`, of test statistics, and of parameters (in standard deviations),
/// and the number of fits whose status differs.
fn differences(got: &[TaskOutcome], want: &[TaskOutcome]) -> (f64, f64, f64, usize) {
    let (mut nll, mut statistic, mut parameter, mut other) = (0.0_f64, 0.0_f64, 0.0_f64, 0);
    for (got, want) in got.iter().zip(want) {
        let mut minima = Vec::new();
        for pair in got.fits.iter().zip(&want.fits) {
            match pair {
                (Ok(got), Ok(want)) if got.status == want.status => {
                    nll = nll.max((got.nll - want.nll).abs());
                    minima.push((got.nll, want.nll));
                    for ((x, y), sigma) in
                        got.parameters.iter().zip(&want.parameters).zip(&want.uncertainties)
                    {
                        parameter = parameter.max((x - y).abs() / sigma.unwrap_or(f64::INFINITY));
                    }
                }
                (Err(got), Err(want)) if got == want => {}
                _ => other += 1,
            }
        }
        if let [(free, free_want), (fixed, fixed_want)] = minima[..] {
            statistic = statistic.max((2.0 * (fixed - free) - 2.0 * (fixed_want - free_want)).abs());
        }
    }
    (nll, statistic, parameter, other)
}

fn check(device: &str, case: &Case, toys: u64) {
    let here = CpuSession::open(&case.model, &Execution::default()).unwrap();
    let there = open(device, &case.model, 0).unwrap();
    let truth = case.truth();
    let fits = requests(&truth, None);
    let source = here.toy_source(&truth, &Data::observed(), 11, 2).unwrap();
    let wanted = OutcomeParts { uncertainties: true, ..OutcomeParts::default() };
    let (want, of_cpu) = run(&here, &source, &fits, 0..toys, wanted);
    let (got, of_gpu) = run(&*there, &source, &fits, 0..toys, wanted);
    let (nll, statistic, parameter, other) = differences(&got, &want);
    let left = there.left_to_cpu().map_or(String::new(), |why| format!("  on the CPU: {why}"));
    println!(
        "{:45} nll {nll:8.1e}  statistic {statistic:8.1e}  parameters {parameter:8.1e} sigma  other status {other}  CPU {of_cpu:.3} s, \
         there {of_gpu:.3} s{left}",
        case.name
    );
}

fn time(device: &str, toys: u64, events: f64) {
    let case = gaussian_on_exponential(events);
    let truth = case.truth();
    let here = CpuSession::open(&case.model, &Execution::default()).unwrap();
    let metric = metric(&here, &truth);
    let source = here.toy_source(&truth, &Data::observed(), 1, 2).unwrap();
    let there = open(device, &case.model, 0).unwrap();
    let none = OutcomeParts::default();
    for (what, fits) in [
        ("free fit", &requests(&truth, metric.clone())[..1]),
        ("free and conditional fit", &requests(&truth, metric)),
    ] {
        for repeat in 0..3 {
            let (outcomes, seconds) = run(&*there, &source, fits, 0..toys, none);
            let all = || outcomes.iter().flat_map(|toy| &toy.fits).filter_map(|fit| fit.as_ref().ok());
            let evaluations: usize = all().map(|fit| fit.n_evaluations).sum();
            let converged = all().filter(|fit| fit.converged()).count();
            println!(
                "{what}, run {repeat}: {toys} toys of {events} events in {seconds:.3} s; {:.1} evaluations a toy, {converged} of {} \
                 converged",
                evaluations as f64 / toys as f64,
                fits.len() as u64 * toys
            );
        }
        let (all, _) = run(&*there, &source, fits, 0..toys, none);
        let mut parts = Vec::new();
        for first in (0..toys).step_by(777) {
            parts.extend(run(&*there, &source, fits, first..toys.min(first + 777), none).0);
        }
        let (want, seconds) = run(&here, &source, fits, 0..toys, none);
        let (nll, statistic, _, other) = differences(&all, &want);
        println!(
            "{what}: batches of 777 have the same bits: {}; CPU {seconds:.3} s; largest difference of -ln L {nll:.1e}, of the statistic \
             {statistic:.1e}, {other} fits with another status",
            parts == all
        );
    }
    for threads in [1, 2, 4, 8] {
        let there = open(device, &case.model, threads).unwrap();
        let fits = &requests(&truth, None)[..1];
        run(&*there, &source, fits, 0..256.min(toys), none);
        let (_, seconds) = run(&*there, &source, fits, 0..toys, none);
        println!("free fit without a metric, {threads} threads: {seconds:.3} s");
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, otherwise: u64| arguments.get(i).map_or(otherwise, |n| n.parse().unwrap());
    let device = arguments.first().map_or("cuda", String::as_str);
    let (toys, events) = (number(1, 10_000), number(2, 10_000));
    for case in cases().into_iter().chain([constrained()]) {
        check(device, &case, (toys / 10).max(3));
    }
    time(device, toys, events as f64);
}
