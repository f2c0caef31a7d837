//! Measures the time of a scan of the parameter of interest: `cargo run --release -p ns-inference --example
//! profile_scan -- WS.json [POINTS]`.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::time::Instant;

use ns_core::{Control, Execution, Interpolation};
use ns_inference::{FitOptions, ScanAxis, ScanOptions, fit, open_session, scan};
use ns_translate::pyhf::{ModelOptions, Workspace};

fn main() {
    let path = std::env::args().nth(1).unwrap();
    let points: usize = std::env::args().nth(2).map_or(21, |n| n.parse().unwrap());
    let workspace = Workspace::from_path(path).unwrap();
    for interpolation in [Interpolation::SMOOTH, Interpolation::PIECEWISE] {
        let model = workspace.model(&ModelOptions { interpolation, ..ModelOptions::default() }).unwrap();
        let execution = Execution { threads: 1, ..Execution::default() };
        let session = open_session(&model, &execution).unwrap();
        let axis = ScanAxis::default().points(points);
        for (name, options) in [
            ("points only", ScanOptions::new(axis.clone()).intervals(false)),
            ("+ intervals", ScanOptions::new(axis.clone())),
        ] {
            let mut times = Vec::new();
            let mut last = None;
            for _ in 0..7 {
                let start = Instant::now();
                last = Some(scan(&model, session.as_ref(), &options, Control::default()).unwrap());
                times.push(1e3 * start.elapsed().as_secs_f64());
            }
            times.sort_by(f64::total_cmp);
            let result = last.unwrap();
            let start = Instant::now();
            let free = fit(&model, session.as_ref(), &FitOptions::default(), Control::default()).unwrap();
            let free_ms = 1e3 * start.elapsed().as_secs_f64();
            println!(
                "{interpolation}: {name}: {:.2} ms (best {:.2}), {} fits, {} iterations; free fit {free_ms:.2} ms, {} \
                 iterations; {:.3} ms and {:.2} iterations per conditional fit",
                times[times.len() / 2],
                times[0],
                result.n_fits,
                result.n_iter,
                free.n_iter,
                (times[times.len() / 2] - free_ms) / (result.n_fits - 1) as f64,
                (result.n_iter - free.n_iter) as f64 / (result.n_fits - 1) as f64,
            );
            for warning in result.warnings {
                println!("  {warning}");
            }
        }
    }
}
