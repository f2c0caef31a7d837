//! Toys per second of a workspace, and how they differ from fits of the same toys one by one.
//!
//! `cargo run --release -p ns-compute --example profile_toys -- FILE [toys] [mu] [threads]`

use std::time::Instant;

use ns_compute::CpuSession;
use ns_core::{
    Condition, Control, Data, Drawn, Execution, FitFailure, FitOutcome, FitRequest, FitTask, Search, Session,
    Start, TaskOutcome, Wanted,
};
use ns_translate::pyhf::{ModelOptions, Workspace};

fn fits(session: &CpuSession, tasks: &[FitTask]) -> Vec<TaskOutcome> {
    let mut out = Vec::new();
    session.fit_batch(tasks, Wanted::default(), Control::default(), &mut out).expect("valid tasks");
    out
}

fn one(session: &CpuSession, data: Data, request: FitRequest, wanted: Wanted) -> FitOutcome {
    let mut out: Vec<TaskOutcome> = Vec::new();
    let task = FitTask { data, fits: vec![request] };
    session.fit_batch(&[task], wanted, Control::default(), &mut out).expect("a valid task");
    out.remove(0).fits.remove(0).expect("a finite fit")
}

fn main() {
    let mut args = std::env::args().skip(1);
    let file = args.next().expect("a workspace file");
    let toys: u64 = args.next().map_or(1000, |a| a.parse().expect("a number"));
    let mu: f64 = args.next().map_or(1.0, |a| a.parse().expect("a number"));
    let threads = args.next().map_or(1, |a| a.parse().expect("a number"));
    let text = std::fs::read(&file).expect("a readable file");
    let workspace = Workspace::from_slice(&text).expect("a workspace");
    let model = workspace.model(&ModelOptions::default()).expect("a model");
    let poi = model.poi.expect("a parameter of interest");
    let execution = Execution { threads, ..Execution::default() };
    let session = CpuSession::open(&model, &execution).expect("a session");
    for (name, at, hypothesis) in [("b", 0.0, 0u8), ("sb", mu, 1)] {
        let held = FitRequest { fixed: vec![(poi, at)], ..FitRequest::default() };
        let generating = one(&session, Data::Observed, held, Wanted::default());
        let start: std::sync::Arc<[f64]> = generating.parameters.clone().into();
        let source = session.toy_source(&generating.parameters, 1, hypothesis).expect("a source");
        let asimov = session.asimov(&generating.parameters).expect("an Asimov set");
        let wide = FitRequest {
            start: Start::At(start.clone()),
            bounds: vec![(poi, (-100.0, 100.0))],
            search: Search::Local,
            ..FitRequest::default()
        };
        let metric = one(&session, asimov, wide, Wanted { uncertainties: true, covariance: true }).covariance;
        let metric = metric.expect("a covariance");
        let along: Vec<f64> = (0..metric.n).map(|p| metric.get(p, poi) / metric.get(poi, poi)).collect();
        let along: std::sync::Arc<[f64]> = along.into();
        let free = FitRequest {
            start: Start::At(start),
            search: Search::Local,
            metric: Some(metric.clone()),
            ..FitRequest::default()
        };
        let conditional = FitRequest {
            start: Start::Along(0, along),
            fixed: vec![(poi, mu)],
            search: Search::Local,
            metric: Some(metric),
            only_if: Some(Condition { fit: 0, parameter: poi, range: (f64::NEG_INFINITY, mu) }),
            ..FitRequest::default()
        };
        let requests = vec![free, conditional];
        let task = FitTask {
            data: Data::Drawn(Drawn { source: source.clone(), toys: 0..toys }),
            fits: requests.clone(),
        };
        let begun = Instant::now();
        let outcomes = fits(&session, &[task]);
        let seconds = begun.elapsed().as_secs_f64();
        let all = || outcomes.iter().flat_map(|o| &o.fits);
        let done: Vec<&FitOutcome> = all().filter_map(|f| f.as_ref().ok()).collect();
        let failed = all().filter(|f| matches!(f, Err(e) if *e != FitFailure::NotNeeded)).count();
        let mean = |f: &dyn Fn(&FitOutcome) -> usize| {
            done.iter().map(|o| f(o)).sum::<usize>() as f64 / done.len() as f64
        };
        let open = done.iter().filter(|o| !o.converged()).count();
        let scalar =
            done.iter().filter(|o| o.certificate.projected_gradient != (2.0 * o.certificate.edm).sqrt());
        println!(
            "{name}: {:.1} us per toy, {:.0} toys/s; {} fits, {:.2} iterations, {:.2} evaluations; {} by the scalar optimiser, {open} not converged, {failed} failed",
            1e6 * seconds / toys as f64,
            toys as f64 / seconds,
            done.len(),
            mean(&|o| o.n_iterations),
            mean(&|o| o.n_evaluations),
            scalar.count(),
        );
        // The same toys as given data: the scalar optimiser.
        let some = toys.min(300);
        let tasks: Vec<FitTask> =
            (0..some).map(|i| FitTask { data: source.draw(i).into(), fits: requests.clone() }).collect();
        let begun = Instant::now();
        let plain = fits(&session, &tasks);
        let seconds = begun.elapsed().as_secs_f64();
        let (mut worst, mut lower, mut higher) = (0.0f64, 0, 0);
        for (a, b) in outcomes.iter().zip(&plain) {
            for (a, b) in a.fits.iter().zip(&b.fits) {
                if let (Ok(a), Ok(b)) = (a, b) {
                    worst = worst.max((a.nll - b.nll).abs());
                    lower += usize::from(a.nll < b.nll - 1e-7);
                    higher += usize::from(a.nll > b.nll + 1e-7);
                }
            }
        }
        println!(
            "    one by one: {:.1} us per toy; largest difference of -ln L {worst:.1e}, {lower} lower and {higher} higher in lanes",
            1e6 * seconds / some as f64
        );
    }
}
