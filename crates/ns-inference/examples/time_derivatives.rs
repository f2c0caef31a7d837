//! Measures the times in which derivatives are computed. First come `-ln L` and its gradient with respect to parameters
//! and yields. Then come the profiled statistic q0 and its gradient. The fits for q0 begin at the initial parameters,
//! or at the minima of the previous call. The data for q0, significances and limits are the expected data for a signal
//! of strength 1.
//!
//! `cargo run --release -p ns-inference --example time_derivatives -- WORKSPACE SAMPLE`
#![allow(clippy::print_stdout)]

use std::time::Instant;

use ns_core::Execution;
use ns_inference::differentiable::{Follow, ProfiledOptions};
use ns_inference::{DifferentiableSession, FitData, ProfiledDifferentiableSession, TestStatistic};
use ns_translate::pyhf::{ModelOptions, Workspace};

/// Returns the median time of `n` calls, in microseconds.
fn median<T>(n: usize, mut call: impl FnMut(usize) -> T) -> f64 {
    let mut times: Vec<f64> = (0..n)
        .map(|i| {
            let start = Instant::now();
            std::hint::black_box(call(i));
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times.get(n / 2).copied().unwrap_or(f64::NAN)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, sample] = arguments.as_slice() else { return Err("give a workspace and a sample".into()) };
    let model = Workspace::from_path(path)?.model(&ModelOptions::default())?;
    let model = model.open(&model.nominal_inputs(sample))?;
    let execution = Execution { threads: 1, ..Execution::default() };
    let session = DifferentiableSession::open(&model, Follow::default(), &FitData::Observed, &execution)?;
    let nominal = session.inputs().values.clone();
    let point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
    println!("{} parameters, {} bins, {} numbers of '{sample}'", point.len(), model.n_bins(), nominal.len());
    // Every call has different yields. Each yield is changed by up to 0.1 %.
    let moved = |i: usize| -> Vec<f64> {
        let change =
            |j: usize| 2.0 * ((i * nominal.len() + j) as f64 * 0.618_033_988_749_894_9).fract() - 1.0;
        nominal.iter().enumerate().map(|(j, x)| x * (1.0 + 1e-3 * change(j))).collect()
    };
    session.nll(&nominal, &point)?;
    println!("nll with gradient: {:.1} us", median(1001, |i| session.nll(&moved(i), &point)));
    let options = ProfiledOptions { data: FitData::Asimov { poi: Some(1.0) }, ..ProfiledOptions::default() };
    for (name, warm) in [("cold", false), ("warm", true)] {
        let session = ProfiledDifferentiableSession::open(&model, &options, &execution)?;
        let q0 = |i: usize| session.statistic(TestStatistic::Q0, 0.0, &moved(i), warm.then_some(0));
        println!("q0 {:.6} with gradient, {name}: {:.0} us", q0(0)?.value, median(51, q0));
        if !warm {
            println!(
                "expected significance with gradient: {:.0} us",
                median(11, |i| session.significance(&moved(i)))
            );
            let limit = |i: usize| session.upper_limit(TestStatistic::Qtilde, 0.95, &moved(i));
            println!("upper limits with gradient: {:.0} us", median(11, limit));
        }
    }
    Ok(())
}
