//! Toys per second of a workspace, and how they differ from fits of the same toys one by one.
//!
//! `cargo run --release -p ns-compute --example profile_toys -- FILE [toys] [mu] [threads]`

#![allow(clippy::expect_used)] // an example may stop where its input is wrong

use std::time::Instant;

use ns_compute::CpuSession;
use ns_core::{
    Condition, Control, Data, Drawn, Execution, FitFailure, FitOutcome, FitRequest, FitTask, Search, Session,
    Start, TaskOutcome, Wanted,
};
use ns_translate::pyhf::{ModelOptions, Workspace};

fn fits_of(session: &CpuSession, tasks: &[FitTask]) -> Vec<TaskOutcome> {
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

/// Fits 200 toys again from three other starts each: the Asimov point with all constrained parameters moved
/// by a random amount of their width, and free ones scaled.
fn again_from_elsewhere(
    session: &CpuSession,
    model: &ns_core::Model,
    source: &std::sync::Arc<ns_core::ToySource>,
    requests: &[FitRequest],
    outcomes: &[TaskOutcome],
) {
    use ns_core::random::{Normal, Stream};
    let unit = Normal::new(0.0, 1.0).expect("a unit normal");
    let step = (outcomes.len() / 200).max(1);
    let (mut lower, mut fits, mut worst) = (0, 0, 0.0f64);
    for (toy, outcome) in outcomes.iter().enumerate().step_by(step) {
        for (k, (request, fit)) in requests.iter().zip(&outcome.fits).enumerate() {
            let Ok(fit) = fit else { continue };
            if !fit.converged() {
                continue;
            }
            fits += 1;
            for other in 0..3 {
                let stream = Stream::new(77, toy as u64, other);
                let start: Vec<f64> = (model.parameters.iter().zip(&source.parameters).enumerate())
                    .map(|(i, (p, at))| {
                        let random = unit.draw(&stream, i as u32);
                        match p.constraint.prefit_sigma() {
                            _ if p.fixed => *at,
                            Some(sigma) => (at + sigma * random).clamp(p.bounds.0, p.bounds.1),
                            None => (at * (0.3 * random).exp()).clamp(p.bounds.0, p.bounds.1),
                        }
                    })
                    .collect();
                let request = FitRequest {
                    start: Start::At(start.into()),
                    metric: None,
                    only_if: None,
                    ..request.clone()
                };
                let task = FitTask { data: source.draw(toy as u64).into(), fits: vec![request] };
                if let Some(Ok(found)) = fits_of(session, &[task]).remove(0).fits.first() {
                    let gain = fit.nll - found.nll;
                    if found.converged() && found.empty_bins.is_empty() && gain > 5e-7 {
                        lower += 1;
                        worst = worst.max(gain);
                        if lower < 4 {
                            println!(
                                "    toy {toy} fit {k}: lower by {gain:.2e} from start {other} ({} iterations, projected {:.1e}, edm {:.1e}, restarts {})",
                                fit.n_iterations, fit.certificate.projected_gradient, fit.certificate.edm, fit.certificate.restarts_improved
                            );
                        }
                    }
                }
            }
        }
    }
    println!("    again from three other starts: {fits} fits, {lower} lower, by up to {worst:.1e}");
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
        let outcomes = fits_of(&session, &[task]);
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
        let hard = outcomes.iter().enumerate().filter(|(_, o)| {
            o.fits.iter().any(|f| match f {
                Ok(fit) => !fit.converged(),
                Err(failure) => *failure != FitFailure::NotNeeded,
            })
        });
        for (toy, outcome) in hard.take(8) {
            for (k, fit) in outcome.fits.iter().enumerate() {
                match fit {
                    Ok(fit) => println!(
                        "    toy {toy} fit {k}: {:?}, -ln L {:.6}, EDM {:.1e}, {} iterations, mu {:.6}",
                        fit.status, fit.nll, fit.certificate.edm, fit.n_iterations, fit.parameters[poi]
                    ),
                    Err(failure) => println!("    toy {toy} fit {k}: {failure}"),
                }
            }
        }
        // The same toys as given data: the scalar optimiser.
        let some = toys.min(300);
        let tasks: Vec<FitTask> =
            (0..some).map(|i| FitTask { data: source.draw(i).into(), fits: requests.clone() }).collect();
        let begun = Instant::now();
        let plain = fits_of(&session, &tasks);
        let seconds = begun.elapsed().as_secs_f64();
        let (mut worst, mut lower, mut higher) = (0.0f64, 0, 0);
        for (toy, (a, b)) in outcomes.iter().zip(&plain).enumerate() {
            for (a, b) in a.fits.iter().zip(&b.fits) {
                if let (Ok(a), Ok(b)) = (a, b) {
                    if (a.nll - b.nll).abs() > 1e-7 {
                        println!("    toy {toy}: -ln L {:.6} {:?} (bins without expectation {:?}) in lanes, {:.6} {:?} ({:?}) one by one", a.nll, a.status, a.empty_bins, b.nll, b.status, b.empty_bins);
                    }
                    worst = worst.max((a.nll - b.nll).abs());
                    lower += usize::from(a.nll < b.nll - 1e-7);
                    higher += usize::from(a.nll > b.nll + 1e-7);
                }
            }
        }
        again_from_elsewhere(&session, &model, &source, &requests, &outcomes);
        println!(
            "    one by one: {:.1} us per toy; largest difference of -ln L {worst:.1e}, {lower} lower and {higher} higher in lanes",
            1e6 * seconds / some as f64
        );
    }
}
