//! Draws and fits toys of one event model for each density, and prints their pulls. Prints how fast toys of
//! model m1 with 10 000 events are drawn and fitted.
//!
//! ```text
//! cargo run --release -p ns-compute --example event_toys -- [toys, default 2000] [threads, default 1]
//! ```
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

#[path = "../tests/event/event_models/mod.rs"]
mod event_models;
#[path = "../tests/event/events_oracle/mod.rs"]
mod events_oracle;

use std::sync::Arc;
use std::time::Instant;

use event_models::{Case, cases, constrained, gaussian_on_exponential};
use ns_compute::CpuSession;
use ns_core::{
    Control, Data, Drawn, EventColumns, Execution, FitRequest, FitTask, OutcomeParts, Search, Session, Start,
    TaskOutcome,
};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let toys: u64 = arguments.next().map_or(2000, |n| n.parse().unwrap());
    let threads = arguments.next().map_or(1, |n| n.parse().unwrap());
    time(toys, threads);
    let mut worst: f64 = 0.0;
    for case in cases().into_iter().chain([constrained()]) {
        worst = worst.max(pulls(&case, toys, threads));
    }
    println!("largest deviation: {worst:.2} standard deviations");
    assert!(worst < 4.0, "a pull is off");
}

/// Returns the CPU time of this thread in seconds. Time that other programs use is not part of it. On systems where the
/// CPU time is not known, returns the elapsed time since `began`.
fn cpu_seconds(began: Instant) -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds: Option<f64> = text.split(' ').next().and_then(|n| n.parse().ok());
    nanoseconds.map_or(began.elapsed().as_secs_f64(), |n| 1e-9 * n)
}

/// Prints how many toys of m1 with 10 000 events are drawn and fitted per second.
fn time(toys: u64, threads: usize) {
    let case = gaussian_on_exponential(10_000.0);
    let session = CpuSession::open(&case.model, &Execution { threads, ..Execution::default() }).unwrap();
    let truth = case.truth();
    let asimov = session.asimov(&truth, &Data::observed()).unwrap();
    let start = Start::At(Arc::from(truth.as_slice()));
    let parent = FitRequest { start: start.clone(), search: Search::Local, ..FitRequest::default() };
    let wanted = OutcomeParts { inverse: true, ..OutcomeParts::default() };
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    let task = FitTask { data: asimov, fits: vec![parent.clone()], cancel: None };
    session.fit_batch(&[task], wanted, Control::default(), &mut outcomes).unwrap();
    let metric = outcomes[0].fits[0].as_ref().unwrap().inverse_hessian();
    let source = session.toy_source(&truth, &Data::observed(), 1, 2).unwrap();
    let began = Instant::now();
    let at_start = cpu_seconds(began);
    let (mut buffer, mut tables) = (EventColumns::default(), Vec::new());
    for toy in 0..toys {
        source.draw_events(toy, &mut buffer, &mut tables).unwrap();
    }
    let drawn = cpu_seconds(began) - at_start;
    let points: Vec<f64> =
        (0..toys).flat_map(|i| truth.iter().map(move |x| x * (1.0 + 1e-6 * i as f64))).collect();
    let data = source.draw_whole(0).unwrap().into();
    let at_start = cpu_seconds(began);
    session
        .evaluate(&data, &points, ns_core::EvaluationRequest { gradient: true, ..Default::default() })
        .unwrap();
    let evaluated = cpu_seconds(began) - at_start;
    for (what, request, wanted) in [
        ("with the metric of Asimov data", FitRequest { metric, ..parent.clone() }, OutcomeParts::default()),
        ("without a metric", parent.clone(), OutcomeParts::default()),
        ("with uncertainties", parent, OutcomeParts { uncertainties: true, ..OutcomeParts::default() }),
    ] {
        let data = Data::observed().with(Drawn { source: Arc::clone(&source), toys: 0..toys });
        let mut outcomes: Vec<TaskOutcome> = Vec::new();
        let began = Instant::now();
        let at_start = cpu_seconds(began);
        let task = FitTask { data, fits: vec![request], cancel: None };
        session.fit_batch(&[task], wanted, Control::default(), &mut outcomes).unwrap();
        let wall = if threads == 1 { cpu_seconds(began) - at_start } else { began.elapsed().as_secs_f64() };
        let fits = || outcomes.iter().filter_map(|outcome| outcome.fits[0].as_ref().ok());
        let (evaluations, converged) = (
            fits().map(|fit| fit.n_evaluations).sum::<usize>(),
            fits().filter(|fit| fit.converged()).count(),
        );
        println!(
            "m1, 10 000 events, {what}: {:.0} toys/s on {threads} threads ({:.1} evaluations, {:.1} iterations, {converged} of {toys} converged); \
             drawing alone {:.0} us, an evaluation {:.0} us",
            toys as f64 / wall,
            evaluations as f64 / toys as f64,
            fits().map(|fit| fit.n_iterations).sum::<usize>() as f64 / toys as f64,
            1e6 * drawn / toys as f64,
            1e6 * evaluated / toys as f64,
        );
    }
}

/// Prints mean and width of the pulls of each parameter. Returns the largest deviation of a mean or a width
/// from its expected value, in standard deviations.
fn pulls(case: &Case, toys: u64, threads: usize) -> f64 {
    let session = CpuSession::open(&case.model, &Execution { threads, ..Execution::default() }).unwrap();
    let truth = case.truth();
    let source = session.toy_source(&truth, &Data::observed(), 23, 2).unwrap();
    let request = FitRequest {
        start: Start::At(Arc::from(truth.as_slice())),
        search: Search::Local,
        ..FitRequest::default()
    };
    let data = Data::observed().with(Drawn { source, toys: 0..toys });
    let wanted = OutcomeParts { uncertainties: true, ..OutcomeParts::default() };
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    let began = Instant::now();
    let task = FitTask { data, fits: vec![request], cancel: None };
    session.fit_batch(&[task], wanted, Control::default(), &mut outcomes).unwrap();
    let wall = began.elapsed().as_secs_f64();
    let mut worst: f64 = 0.0;
    for (p, parameter) in case.model.parameters.iter().enumerate() {
        let pulls: Vec<f64> = outcomes
            .iter()
            .filter_map(|outcome| outcome.fits[0].as_ref().ok().filter(|fit| fit.converged()))
            .filter_map(|fit| Some((fit.parameters[p] - truth[p]) / fit.uncertainties[p]?))
            .collect();
        let n = pulls.len() as f64;
        let mean = pulls.iter().sum::<f64>() / n;
        let moment = |k: i32| pulls.iter().map(|x| (x - mean).powi(k)).sum::<f64>() / n;
        let width = moment(2).sqrt();
        // Standard deviations of mean and width, the latter with the kurtosis of these pulls.
        let of_mean = mean / (width / n.sqrt());
        let of_width = (width - 1.0) / ((moment(4) / moment(2) - moment(2)) / (4.0 * n)).sqrt();
        worst = worst.max(of_mean.abs()).max(of_width.abs());
        println!(
            "{:40} {:8} {n:6.0} pulls: mean {mean:7.3} ({of_mean:5.1}) width {width:6.3} ({of_width:5.1}); {:.0} toys/s",
            case.name,
            parameter.name,
            toys as f64 / wall,
        );
    }
    worst
}
