//! Measures the times of fits of events, with uncertainties at the exact minimum. The MODEL is `gaussian` (a Gaussian
//! peak on an exponential background) or `crystal_ball` (a Crystal Ball peak with two tails on a Chebyshev background).
//!
//!     cargo run --release -p ns-compute --features cuda --example fit_events -- [MODEL [EVENTS [THREADS [REPEATS [DEVICE]]]]]
//!
//! DEVICE is `cpu` (the default) or `cuda`. Every repetition opens a session and makes two fits. On a GPU the first fit
//! includes the upload of the events.

use std::sync::Arc;
use std::time::Instant;

use ns_compute::CpuSession;
use ns_core::random::{Stream, open_uniform};
use ns_core::{
    Constraint, Control, Data, Density, Device, EventChannel, EventTable, Execution, FitRequest, FitTask,
    Interpolation, Model, Observable, Observations, OutcomeParts, Parameter, ParameterSet, Process, Session,
    Tail, TaskOutcome, Value,
};

/// Returns three uniform random numbers for event `i`. The third number decides to which of the two processes the event
/// belongs.
fn uniform(i: usize) -> [f64; 3] {
    let stream = Stream::new(20_261_122, i as u64, 0);
    let ([a, b, c, d], [e, f, ..]) = (stream.block(0, 0), stream.block(1, 0));
    [open_uniform(a, b), open_uniform(c, d), open_uniform(e, f)]
}

/// Returns `count` events between 60 and 120. About 30 % of the events come from a Gaussian peak at 91.2 of width 2.5,
/// and all others from an exponential density with slope 0.02.
fn gaussian_events(count: usize) -> Vec<f64> {
    let (lo, hi, slope): (f64, f64, f64) = (60.0, 120.0, 0.02);
    (0..count)
        .map(|i| {
            let [u, v, choice] = uniform(i);
            if choice < 0.3 {
                91.2 + 2.5 * (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
            } else {
                lo - (1.0 - u * (1.0 - (-slope * (hi - lo)).exp())).ln() / slope
            }
        })
        .collect()
}

/// Returns `count` events between 100 and 160. About 40 % of the events come from a peak at 125 of width 2 with
/// power-law tails, and all others from a falling polynomial. Both densities are sampled by rejection.
fn crystal_ball_events(count: usize) -> Vec<f64> {
    let peak = |x: f64| {
        let t = (x - 125.0) / 2.0;
        let tail = |alpha: f64, n: f64| {
            (-0.5 * alpha * alpha).exp() * (1.0 + (t.abs() - alpha) * alpha / n).powf(-n)
        };
        if t < -1.3 {
            tail(1.3, 4.0)
        } else if t > 1.4 {
            tail(1.4, 5.0)
        } else {
            (-0.5 * t * t).exp()
        }
    };
    let rest = |x: f64| {
        let z = (x - 100.0) / 30.0 - 1.0;
        (1.0 - 0.35 * z + 0.1 * (2.0 * z * z - 1.0)) / 1.5
    };
    (0..)
        .map(uniform)
        .scan(true, |of_peak, [u, v, choice]| {
            let x = 100.0 + 60.0 * u;
            let taken = v < if *of_peak { peak(x) } else { rest(x) };
            if taken {
                *of_peak = choice < 0.4;
            }
            Some((taken, x))
        })
        .filter_map(|(taken, x)| taken.then_some(x))
        .take(count)
        .collect()
}

/// Builds a model with one observable and two processes.
fn model(
    axis: (f64, f64),
    parameters: &[(&str, f64, (f64, f64))],
    [signal, background]: [Density; 2],
    events: Vec<f64>,
) -> Model {
    let parameter = |&(name, init, bounds): &(&str, f64, (f64, f64))| Parameter {
        name: name.to_owned(),
        init,
        bounds,
        fixed: false,
        constraint: Constraint::None,
    };
    let parameters: Vec<Parameter> = parameters.iter().map(parameter).collect();
    let sets = parameters.iter().enumerate();
    let parameter_sets =
        sets.map(|(i, p)| ParameterSet { name: p.name.clone(), range: i..i + 1, scalar: true }).collect();
    let process = |name: &str, rate: usize, density| Process {
        name: name.to_owned(),
        rate: Value::Parameter(rate),
        density,
    };
    let table = EventTable { columns: vec![events.into()], weights: None };
    Model {
        format: ns_core::ModelFormat::Pyhf,
        unobserved: Vec::new(),
        measurement: "events".to_owned(),
        channels: Vec::new(),
        parameters,
        parameter_sets,
        pois: vec![0],
        interpolation: Interpolation::SMOOTH,
        functions: Vec::new(),
        event_channels: vec![EventChannel {
            name: "events".to_owned(),
            observables: vec![Observable {
                name: "x".to_owned(),
                min: axis.0,
                max: axis.1,
                blind: Vec::new(),
            }],
            ranges: Vec::new(),
            reference: Vec::new(),
            extended: true,
            processes: vec![process("signal", 0, signal), process("background", 1, background)],
            binning: None,
        }],
        penalties: Vec::new(),
        open: Vec::new(),
        observed: Observations { main: Vec::new(), aux: Vec::new(), events: vec![Arc::new(table)] },
        warnings: Vec::new(),
    }
}

/// Returns the Gaussian model with this number of events.
fn gaussian_model(count: usize) -> Model {
    let (n, p) = (count as f64, Value::Parameter);
    let parameters = [
        ("nsig", 0.35 * n, (0.0, 2.0 * n)),
        ("nbkg", 0.65 * n, (0.0, 2.0 * n)),
        ("mu", 90.0, (80.0, 100.0)),
        ("sigma", 3.0, (0.5, 10.0)),
        ("slope", 0.03, (0.0001, 0.2)),
    ];
    let signal = Density::Gaussian { x: 0, mean: p(2), sigma: p(3) };
    let background = Density::Exponential { x: 0, slope: p(4) };
    model((60.0, 120.0), &parameters, [signal, background], gaussian_events(count))
}

/// Returns the Crystal Ball model with this number of events, and constraints on mean, width and one tail.
fn crystal_ball_model(count: usize) -> Model {
    let (n, p) = (count as f64, Value::Parameter);
    let parameters = [
        ("nsig", 0.35 * n, (0.0, 2.0 * n)),
        ("nbkg", 0.65 * n, (0.0, 2.0 * n)),
        ("mu", 124.5, (120.0, 130.0)),
        ("sigma", 2.3, (0.5, 6.0)),
        ("al", 1.5, (0.3, 5.0)),
        ("ar", 1.2, (0.3, 5.0)),
        ("c1", -0.2, (-1.5, 1.5)),
        ("c2", 0.0, (-1.5, 1.5)),
    ];
    let tail = |alpha: usize, n: f64| Some(Tail { alpha: p(alpha), n: Value::Number(n) });
    let signal = Density::CrystalBall {
        x: 0,
        mean: p(2),
        sigma_left: p(3),
        sigma_right: p(3),
        left: tail(4, 4.0),
        right: tail(5, 5.0),
    };
    let background = Density::Chebyshev { x: 0, coefficients: vec![p(6), p(7)] };
    let events = crystal_ball_events(count);
    let mut model = model((100.0, 160.0), &parameters, [signal, background], events);
    for (aux, (parameter, mean, sigma)) in
        [(2, 125.0, 0.2), (3, 2.0, 0.1), (4, 1.3, 0.1)].into_iter().enumerate()
    {
        model.parameters[parameter].constraint = Constraint::Gaussian { sigma, aux };
        model.observed.aux.push(mean);
    }
    model
}

#[allow(clippy::print_stdout)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "gaussian".to_owned());
    let mut number = |default: usize| arguments.next().map_or(Ok(default), |text| text.parse());
    let (count, threads, repeats) = (number(1_000_000)?, number(1)?, number(5)?);
    let model = match name.as_str() {
        "gaussian" => gaussian_model(count),
        "crystal_ball" => crystal_ball_model(count),
        other => return Err(format!("unknown model '{other}'; use gaussian or crystal_ball").into()),
    };
    let device: Device = arguments.next().map_or(Ok(Device::Cpu), |text| text.parse())?;
    let execution = Execution { threads, device, ..Execution::default() };
    for _ in 0..repeats {
        let began = Instant::now();
        let session = open(&model, &execution)?;
        println!("{count} events on {}: opened in {:.1} ms", session.device(), milliseconds(began));
        for _ in 0..2 {
            let task = FitTask { data: Data::observed(), fits: vec![FitRequest::default()], cancel: None };
            let wanted = OutcomeParts { covariance: true, ..OutcomeParts::default() };
            let mut outcomes: Vec<TaskOutcome> = Vec::new();
            let began = Instant::now();
            session.fit_batch(&[task], wanted, Control::default(), &mut outcomes)?;
            let took = milliseconds(began);
            let fit =
                outcomes.pop().and_then(|outcome| outcome.fits.into_iter().next()).ok_or("no fit")??;
            println!(
                "  fitted in {took:.2} ms, {} evaluations, {:?}, EDM {:.1e}, -ln L {:.6}",
                fit.n_evaluations, fit.status, fit.certificate.edm, fit.nll,
            );
            for (parameter, (value, error)) in
                model.parameters.iter().zip(fit.parameters.iter().zip(&fit.uncertainties))
            {
                println!("    {:6} {value:.9} +- {:.9}", parameter.name, error.unwrap_or(f64::NAN));
            }
        }
        if let Some(why) = session.left_to_cpu() {
            println!("  the CPU did all: {why}");
        }
    }
    Ok(())
}

fn milliseconds(since: Instant) -> f64 {
    1e3 * since.elapsed().as_secs_f64()
}

fn open(model: &Model, execution: &Execution) -> Result<Box<dyn Session>, Box<dyn std::error::Error>> {
    match execution.device {
        Device::Cpu => Ok(Box::new(CpuSession::open(model, execution)?)),
        #[cfg(feature = "cuda")]
        Device::Cuda(_) => Ok(ns_compute::device::cuda::open(model, execution)?),
        other => Err(format!("{other} is not in this build, or not known here").into()),
    }
}
