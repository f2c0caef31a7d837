//! Measures the times of the parts of an analysis of one workspace on one CPU thread: reading, compilation,
//! evaluation, fit. `cargo run --release --example profile_fit -- WS.json [MEASUREMENT]`
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::time::Instant;

use ns_compute::{CpuSession, Level};
use ns_core::{
    Control, Data, EvaluationRequest, Execution, FitRequest, FitTask, Interpolation, OutcomeParts, Search,
    Session, Start, TaskOutcome,
};
use ns_translate::pyhf::{ModelOptions, Workspace};

fn main() {
    let path = std::env::args().nth(1).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let start = Instant::now();
    let workspace = Workspace::from_slice(&bytes).unwrap();
    println!("parse      {:10.1} us", start.elapsed().as_secs_f64() * 1e6);
    for interpolation in [Interpolation::SMOOTH, Interpolation::PIECEWISE] {
        println!("{interpolation}");
        let start = Instant::now();
        let options =
            ModelOptions { interpolation, measurement: std::env::args().nth(2), ..ModelOptions::default() };
        let model = workspace.model(&options).unwrap();
        println!("  model    {:10.1} us", start.elapsed().as_secs_f64() * 1e6);
        let start = Instant::now();
        let execution = Execution { threads: 1, ..Execution::default() };
        let session = CpuSession::open_at(&model, &execution, Level::detect()).unwrap();
        println!(
            "  compile  {:10.1} us  ({} parameters)",
            start.elapsed().as_secs_f64() * 1e6,
            model.parameters.len()
        );
        let init = session.parameters().init.clone();
        let n = init.len();
        let points: Vec<f64> =
            (0..100).flat_map(|i| init.iter().map(move |x| x + 1e-3 * f64::from(i) / 100.0)).collect();
        for (name, request) in [
            ("value", EvaluationRequest { nll: true, ..EvaluationRequest::default() }),
            ("gradient", EvaluationRequest { nll: true, gradient: true, ..EvaluationRequest::default() }),
        ] {
            let mut best = f64::INFINITY;
            for _ in 0..300 {
                let start = Instant::now();
                session.evaluate(&Data::observed(), &points, request).unwrap();
                best = best.min(start.elapsed().as_secs_f64() / (points.len() / n) as f64);
            }
            println!("  {name:9}{:10.2} us", best * 1e6);
        }
        let hessian = EvaluationRequest { hessian: true, ..EvaluationRequest::default() };
        let start = Instant::now();
        session.evaluate(&Data::observed(), &points[..(100 * n).min(points.len())], hessian).unwrap();
        println!("  hessian  {:10.2} us (flat)", start.elapsed().as_secs_f64() * 1e4);
        for (name, search, wanted) in [
            ("local", Search::Local, OutcomeParts::default()),
            ("standard", Search::Standard, OutcomeParts::default()),
            (
                "+errors",
                Search::Standard,
                OutcomeParts { uncertainties: true, covariance: false, inverse: false },
            ),
            (
                "+covar.",
                Search::Standard,
                OutcomeParts { uncertainties: true, covariance: true, inverse: false },
            ),
        ] {
            let mut times = Vec::new();
            let mut last = None;
            let repeat = if n > 1000 { 3 } else { 100 };
            for i in 0..repeat {
                let mut begin = init.clone();
                begin[0] += 1e-6 * f64::from(i);
                let task = FitTask {
                    data: Data::observed(),
                    fits: vec![FitRequest {
                        search,
                        start: Start::At(begin.into()),
                        ..FitRequest::default()
                    }],
                    cancel: None,
                };
                let mut sink: Vec<TaskOutcome> = Vec::new();
                let start = Instant::now();
                session.fit_batch(&[task], wanted, Control::default(), &mut sink).unwrap();
                times.push(start.elapsed().as_secs_f64());
                last = sink.pop();
            }
            times.sort_by(f64::total_cmp);
            let outcome = last.unwrap().fits.remove(0).unwrap();
            println!(
                "  {name:9}{:10.1} us (median {:.1})  2nll {:.9} edm {:.1e} iterations {} evaluations {} restarts {} {:?}",
                times[0] * 1e6,
                times[times.len() / 2] * 1e6,
                2.0 * outcome.nll,
                outcome.certificate.edm,
                outcome.n_iterations,
                outcome.n_evaluations,
                outcome.certificate.restarts_improved,
                outcome.status,
            );
        }
    }
}
