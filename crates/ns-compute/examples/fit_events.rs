//! Times the fit of a Gaussian peak on an exponential background, with uncertainties at the exact minimum.
//!
//!     cargo run --release -p ns-compute --example fit_events -- [EVENTS [THREADS [REPEATS]]]

use std::sync::Arc;
use std::time::Instant;

use ns_compute::CpuSession;
use ns_core::random::{Stream, open_uniform};
use ns_core::{
    Constraint, Control, Data, Density, EventChannel, EventTable, Execution, FitRequest, FitTask,
    Interpolation, Model, Observable, Observations, OutcomeParts, Parameter, ParameterSet, Process, Session,
    TaskOutcome, Value,
};

/// Returns events between 60 and 120: 30 % from a peak at 91.2 of width 2.5, the others from an exponential
/// density with slope 0.02.
fn events(count: usize) -> Vec<f64> {
    let (lo, hi, slope): (f64, f64, f64) = (60.0, 120.0, 0.02);
    (0..count)
        .map(|i| {
            let [a, b, c, d] = Stream::new(20_261_122, i as u64, 0).block(0, 0);
            let [e, f, ..] = Stream::new(20_261_122, i as u64, 0).block(1, 0);
            let (u, v): (f64, f64) = (open_uniform(a, b), open_uniform(c, d));
            if open_uniform(e, f) < 0.3 {
                91.2 + 2.5 * (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
            } else {
                lo - (1.0 - u * (1.0 - (-slope * (hi - lo)).exp())).ln() / slope
            }
        })
        .collect()
}

fn model(count: usize) -> Model {
    let n = count as f64;
    let parameter = |name: &str, init: f64, bounds: (f64, f64)| Parameter {
        name: name.to_owned(),
        init,
        bounds,
        fixed: false,
        constraint: Constraint::None,
    };
    let parameters = vec![
        parameter("nsig", 0.35 * n, (0.0, 2.0 * n)),
        parameter("nbkg", 0.65 * n, (0.0, 2.0 * n)),
        parameter("mu", 90.0, (80.0, 100.0)),
        parameter("sigma", 3.0, (0.5, 10.0)),
        parameter("slope", 0.03, (0.0001, 0.2)),
    ];
    let sets = parameters.iter().enumerate();
    let parameter_sets =
        sets.map(|(i, p)| ParameterSet { name: p.name.clone(), range: i..i + 1, scalar: true }).collect();
    let signal = Density::Gaussian { x: 0, mean: Value::Parameter(2), sigma: Value::Parameter(3) };
    let background = Density::Exponential { x: 0, slope: Value::Parameter(4) };
    let process = |name: &str, rate: usize, density| Process {
        name: name.to_owned(),
        rate: Value::Parameter(rate),
        density,
    };
    let table = EventTable { columns: vec![events(count).into()], weights: None };
    Model {
        measurement: "m1".to_owned(),
        channels: Vec::new(),
        parameters,
        parameter_sets,
        poi: Some(0),
        interpolation: Interpolation::SMOOTH,
        functions: Vec::new(),
        event_channels: vec![EventChannel {
            name: "events".to_owned(),
            observables: vec![Observable { name: "x".to_owned(), min: 60.0, max: 120.0 }],
            ranges: Vec::new(),
            extended: true,
            processes: vec![process("signal", 0, signal), process("background", 1, background)],
            binning: None,
        }],
        penalties: Vec::new(),
        observed: Observations { main: Vec::new(), aux: Vec::new(), events: vec![Arc::new(table)] },
        warnings: Vec::new(),
    }
}

#[allow(clippy::print_stdout)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: usize| arguments.next().map_or(Ok(default), |text| text.parse());
    let (count, threads, repeats) = (number(1_000_000)?, number(1)?, number(5)?);
    let model = model(count);
    let execution = Execution { threads, ..Execution::default() };
    for _ in 0..repeats {
        let began = Instant::now();
        let session = CpuSession::open(&model, &execution)?;
        let opened = began.elapsed();
        let task = FitTask { data: Data::observed(), fits: vec![FitRequest::default()] };
        let wanted = OutcomeParts { covariance: true, ..OutcomeParts::default() };
        let mut outcomes: Vec<TaskOutcome> = Vec::new();
        let began = Instant::now();
        session.fit_batch(&[task], wanted, Control::default(), &mut outcomes)?;
        let took = began.elapsed();
        for outcome in outcomes {
            let fit = outcome.fits.into_iter().next().ok_or("no fit")??;
            println!(
                "{count} events: opened in {:.1} ms, fitted in {:.1} ms, {} evaluations, {:?}, EDM {:.1e}, -ln L {:.6}",
                1e3 * opened.as_secs_f64(),
                1e3 * took.as_secs_f64(),
                fit.n_evaluations,
                fit.status,
                fit.certificate.edm,
                fit.nll,
            );
            for (parameter, (value, error)) in
                model.parameters.iter().zip(fit.parameters.iter().zip(&fit.uncertainties))
            {
                println!("  {:6} {value:.6} +- {:.6}", parameter.name, error.unwrap_or(f64::NAN));
            }
        }
    }
    Ok(())
}
