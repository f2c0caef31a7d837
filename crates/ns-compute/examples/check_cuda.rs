//! Compares a GPU session with a CPU session, and measures the times of both:
//! `check_cuda DEVICE N_TOYS WS.json...`, where DEVICE is `cuda`, `cuda:I` or `host` (the kernels compiled
//! for the CPU; needs the feature `cuda-on-host`).
//!
//! For every workspace, and for smooth and piecewise interpolation, prints the largest differences between
//! the two sessions in values, Hessians, fits and toys.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Instant;

use ns_compute::CpuSession;
use ns_core::random::{Stream, centred_uniform};
use ns_core::{
    Condition, Control, Data, Drawn, EvaluationRequest, Execution, FitRequest, FitTask, Interpolation, Model,
    OutcomeParts, Search, Session, SessionError, Start, TaskOutcome,
};
use ns_translate::pyhf::{ModelOptions, Workspace};

/// Largest number of toys for models with piecewise interpolation. Such models have kinks.
const MOST_WITH_KINKS: u64 = 200;

fn open(device: &str, model: &Model) -> Result<Box<dyn Session>, SessionError> {
    let execution =
        Execution { device: device.parse().unwrap_or_default(), threads: 0, ..Execution::default() };
    if device == "host" {
        #[cfg(feature = "cuda-on-host")]
        return Ok(Box::new(ns_compute::device::host::open(model, &execution)?));
    }
    #[cfg(feature = "cuda")]
    return ns_compute::device::cuda::open(model, &execution);
    #[cfg(not(feature = "cuda"))]
    panic!("needs the feature cuda")
}

fn run(session: &dyn Session, tasks: &[FitTask], wanted: OutcomeParts) -> (Vec<TaskOutcome>, f64) {
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    let began = Instant::now();
    session.fit_batch(tasks, wanted, Control::default(), &mut outcomes).unwrap();
    (outcomes, began.elapsed().as_secs_f64() * 1e3)
}

/// Returns `count` random parameter points around `centre`, one after another. Each parameter is moved by up to `width`
/// and limited to its bounds.
fn scatter(session: &dyn Session, centre: &[f64], count: u64, width: f64) -> Vec<f64> {
    let bounds = &session.parameters().bounds;
    let mut points = Vec::new();
    for i in 0..count {
        let stream = Stream::new(7, i, 0);
        for (p, &x) in centre.iter().enumerate() {
            let [low, high, ..] = stream.block(p as u32, 0);
            let y = x + 2.0 * width * centred_uniform(low, high);
            points.push(y.clamp(bounds[p].0, bounds[p].1));
        }
    }
    points
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (device, n_toys) = (&args[0], args[1].parse::<u64>().unwrap());
    for path in &args[2..] {
        for interpolation in [Interpolation::SMOOTH, Interpolation::PIECEWISE] {
            check(device, n_toys, path, interpolation);
        }
    }
}

fn check(device: &str, n_toys: u64, path: &str, interpolation: Interpolation) {
    let name = path.rsplit('/').next().unwrap_or(path);
    let options = ModelOptions { interpolation, ..ModelOptions::default() };
    let model = match Workspace::from_path(path).unwrap().model(&options) {
        Ok(model) => model,
        Err(error) => return println!("{name} {interpolation}: {error}"),
    };
    let cpu = CpuSession::open(&model, &Execution { threads: 0, ..Execution::default() }).unwrap();
    let began = Instant::now();
    let gpu = open(device, &model).unwrap();
    let gpu = gpu.as_ref();
    println!("{name} {interpolation}: opened in {:.1} ms", began.elapsed().as_secs_f64() * 1e3);
    values(&cpu, gpu);
    hessians(&cpu, gpu);
    fits(&cpu, gpu, &model);
    // For models with kinks the CPU takes a tenth of a second per toy.
    let smooth = interpolation == Interpolation::SMOOTH;
    let n_toys = if smooth { n_toys } else { n_toys.min(MOST_WITH_KINKS) };
    if n_toys > 0 {
        let search = if smooth { Search::Local } else { Search::Standard };
        toys(&cpu, gpu, &model, n_toys, search);
        covariances(&cpu, gpu, n_toys, search);
    }
    if let Some(check) = gpu.check() {
        println!(
            "  check: {} fits, {} checked, nll {:.1e}/{:.1e}, gradient {:.1e}/{:.1e}, edm {:.1e}/{:.1e}",
            check.n_fits,
            check.n_checked,
            check.nll.largest,
            check.nll.tolerance,
            check.gradient.largest,
            check.gradient.tolerance,
            check.edm.largest,
            check.edm.tolerance
        );
    }
}

fn values(cpu: &CpuSession, gpu: &dyn Session) {
    let init = cpu.parameters().init.clone();
    let n = init.len();
    let points = scatter(cpu, &init, 100, 0.5);
    let request = EvaluationRequest { nll: true, gradient: true, ..EvaluationRequest::default() };
    let here = cpu.evaluate(&Data::observed(), &points, request).unwrap();
    let there = gpu.evaluate(&Data::observed(), &points, request).unwrap();
    let (mut value, mut gradient, mut infinite) = (0.0_f64, 0.0_f64, 0);
    for i in 0..100 {
        let (a, b) = (here.nll[i], there.nll[i]);
        if !a.is_finite() || !b.is_finite() {
            infinite += usize::from(a.is_finite() != b.is_finite());
            continue;
        }
        value = value.max((a - b).abs() / (1.0 + a.abs()));
        for p in 0..n {
            let (a, b) = (here.gradient[i * n + p], there.gradient[i * n + p]);
            gradient = gradient.max((a - b).abs() / (1.0 + a.abs()));
        }
    }
    let many = scatter(cpu, &init, 1000, 0.1);
    let only = EvaluationRequest { nll: true, ..EvaluationRequest::default() };
    gpu.evaluate(&Data::observed(), &many, only).unwrap();
    let began = Instant::now();
    gpu.evaluate(&Data::observed(), &many, only).unwrap();
    println!(
        "  100 points: value {value:.1e}, gradient {gradient:.1e} (relative), {infinite} not finite on one side; 1000 values {:.2} ms",
        began.elapsed().as_secs_f64() * 1e3
    );
}

fn hessians(cpu: &CpuSession, gpu: &dyn Session) {
    let init = cpu.parameters().init.clone();
    let n = init.len();
    // Copies of the Hessians of large models take long, so there are fewer points for such models.
    let count = (64_000_000 / (n * n)).clamp(1, 1000);
    let points = scatter(cpu, &init, count as u64, 0.1);
    let request = EvaluationRequest { hessian: true, ..EvaluationRequest::default() };
    let timed = |session: &dyn Session| {
        let began = Instant::now();
        let found = session.evaluate(&Data::observed(), &points, request).unwrap().hessian;
        (found, began.elapsed().as_secs_f64() * 1e3)
    };
    let (here, time_cpu) = timed(cpu);
    timed(gpu);
    let (there, time_gpu) = timed(gpu);
    let began = Instant::now();
    let alone = gpu.evaluate(&Data::observed(), &points[..n], request).unwrap().hessian;
    let time_one = began.elapsed().as_secs_f64() * 1e3;
    let (mut worst, mut infinite) = (0.0_f64, 0);
    for (here, there) in here.chunks(n * n).zip(there.chunks(n * n)) {
        for at in 0..n * n {
            let (a, b) = (here[at], there[at]);
            let scale = (here[at / n * (n + 1)] * here[at % n * (n + 1)]).abs().sqrt();
            if a.is_finite() && b.is_finite() {
                worst = worst.max((a - b).abs() / (1.0 + scale));
            } else {
                infinite += usize::from(a.is_finite() != b.is_finite());
            }
        }
    }
    let same = alone.iter().zip(&there).all(|(a, b)| a.to_bits() == b.to_bits());
    println!(
        "  {count} Hessians of {n} parameters: {worst:.1e} apart, {infinite} not finite on one side, alone the same bits: {same}; {time_cpu:.1} ms on one core, {time_gpu:.2} here, one alone {time_one:.2}"
    );
}

/// Compares the uncertainties and covariances of a GPU session with those of a CPU session, and prints the
/// differences and the times of both. There are three comparisons: uncertainties of toys that the session draws,
/// covariances of some of these toys, and covariances of fits to given data (toys that were drawn before).
fn covariances(cpu: &CpuSession, gpu: &dyn Session, n_toys: u64, search: Search) {
    let point = cpu.parameters().init.clone();
    let Ok(source) = gpu.toy_source(&point, &Data::observed(), 12, 0) else { return };
    let request = FitRequest { start: Start::At(point.into()), search, ..FitRequest::default() };
    let drawn = |toys| {
        let data = Data::from(Drawn { source: Arc::clone(&source), toys });
        vec![FitTask { data, fits: vec![request.clone()], cancel: None }]
    };
    let local = FitRequest { search: Search::Local, ..request.clone() };
    let given = |toys: std::ops::Range<u64>| -> Vec<FitTask> {
        toys.map(|toy| FitTask { data: source.draw(toy).into(), fits: vec![local.clone()], cancel: None })
            .collect()
    };
    let few = n_toys.min(500);
    for (name, tasks, covariance) in [
        (format!("{n_toys} toys, uncertainties"), drawn(0..n_toys), false),
        (format!("{few} toys, covariances"), drawn(0..few), true),
        (format!("{few} sets of data, covariances"), given(0..few), true),
    ] {
        let wanted = OutcomeParts { uncertainties: true, covariance, inverse: false };
        let (here, time_cpu) = run(cpu, &tasks, wanted);
        run(gpu, &tasks, wanted);
        let (there, time_gpu) = run(gpu, &tasks, wanted);
        let (_, time_without) = run(gpu, &tasks, OutcomeParts::default());
        // The searches of the two sessions may end in different minima; such fits are counted, not compared.
        let (mut compared, mut sigma, mut elements, mut different, mut edm) =
            (0, 0.0_f64, 0.0_f64, 0, 0.0_f64);
        for (a, b) in here.iter().zip(&there) {
            let (Ok(a), Ok(b)) = (&a.fits[0], &b.fits[0]) else { continue };
            if !(a.converged() && b.converged()) || (a.nll - b.nll).abs() > 1e-9 || a.inactive != b.inactive {
                different += 1;
                continue;
            }
            compared += 1;
            edm = edm.max(b.certificate.edm);
            for (a, b) in a.uncertainties.iter().zip(&b.uncertainties) {
                match (a, b) {
                    (Some(a), Some(b)) => sigma = sigma.max((a - b).abs() / a),
                    (None, None) => {}
                    _ => sigma = f64::INFINITY,
                }
            }
            let (Some(a), Some(b)) = (&a.covariance, &b.covariance) else { continue };
            for at in 0..a.n * a.n {
                let (i, j) = (at / a.n, at % a.n);
                let scale = (a.get(i, i) * a.get(j, j)).sqrt();
                if scale > 0.0 {
                    elements = elements.max((a.get(i, j) - b.get(i, j)).abs() / scale);
                }
            }
        }
        println!(
            "  {name}: {compared} compared, {different} end elsewhere; uncertainties {sigma:.1e}, covariances {elements:.1e} apart, EDM up to {edm:.1e}; {time_cpu:.0} ms on the CPU, {time_gpu:.1} here ({time_without:.1} without)"
        );
    }
}

fn fits(cpu: &CpuSession, gpu: &dyn Session, model: &Model) {
    let wanted = OutcomeParts { uncertainties: true, covariance: true, inverse: false };
    let single = || vec![FitTask { data: Data::observed(), fits: vec![FitRequest::default()], cancel: None }];
    let (mut here, _) = run(cpu, &single(), wanted);
    let (_, time_cpu) = run(cpu, &single(), wanted);
    run(gpu, &single(), wanted);
    let (mut there, time_gpu) = run(gpu, &single(), wanted);
    let (here, there) = (here.remove(0).fits.remove(0), there.remove(0).fits.remove(0));
    let (Ok(here), Ok(there)) = (here, there) else { return println!("  the fit fails") };
    let mut pull = 0.0_f64;
    for (p, sigma) in here.uncertainties.iter().enumerate() {
        if let Some(sigma) = sigma {
            pull = pull.max((here.parameters[p] - there.parameters[p]).abs() / sigma.max(1.0));
        }
    }
    println!(
        "  fit: nll {:.3e} apart, parameters {pull:.1e}; {time_cpu:.2} ms on the CPU, {time_gpu:.2} here",
        there.nll - here.nll
    );
    // The refits of a ranking: each refit fixes one parameter at one uncertainty above or below its best-fit
    // value.
    let best = Arc::<[f64]>::from(here.parameters.as_slice());
    let mut tasks = Vec::new();
    for (p, sigma) in here.uncertainties.iter().enumerate() {
        let Some(sigma) = sigma.filter(|_| Some(p) != model.poi()) else { continue };
        for sign in [1.0, -1.0] {
            let bounds = cpu.parameters().bounds[p];
            let value = (best[p] + sign * sigma).clamp(bounds.0, bounds.1);
            let mut start = best.to_vec();
            if let Some(covariance) = &here.covariance {
                let n = start.len();
                for (q, x) in start.iter_mut().enumerate() {
                    let (low, high) = cpu.parameters().bounds[q];
                    let slope = covariance.values[p * n + q] / covariance.values[p * n + p];
                    *x = (*x + slope * (value - best[p])).clamp(low, high);
                }
            }
            start[p] = value;
            let request = FitRequest {
                start: Start::At(start.into()),
                fixed: vec![(p, value)],
                search: Search::Local,
                metric: here.inverse_hessian(),
                ..FitRequest::default()
            };
            tasks.push(FitTask { data: Data::observed(), fits: vec![request], cancel: None });
        }
    }
    let (here, time_cpu) = run(cpu, &tasks, OutcomeParts::default());
    run(gpu, &tasks, OutcomeParts::default());
    let (there, time_gpu) = run(gpu, &tasks, OutcomeParts::default());
    let (mut worst, mut failed, mut iterations, mut higher) = (0.0_f64, 0, 0, 0.0_f64);
    for (a, b) in here.iter().zip(&there) {
        match (&a.fits[0], &b.fits[0]) {
            (Ok(a), Ok(b)) if a.converged() && b.converged() => {
                if let Some(poi) = model.poi() {
                    worst = worst.max((a.parameters[poi] - b.parameters[poi]).abs());
                }
                higher = higher.max((b.nll - a.nll).abs());
                iterations += b.n_iterations;
            }
            _ => failed += 1,
        }
    }
    println!(
        "  {} refits: POI {worst:.1e}, nll {higher:.1e} apart, {failed} failed, {:.1} iterations; {time_cpu:.2} ms on the CPU, {time_gpu:.2} here",
        tasks.len(),
        iterations as f64 / tasks.len().max(1) as f64
    );
}

fn toys(cpu: &CpuSession, gpu: &dyn Session, model: &Model, n_toys: u64, search: Search) {
    let Some(poi) = model.poi() else { return };
    let task = |fixed: Vec<(usize, f64)>| FitTask {
        data: Data::observed(),
        fits: vec![FitRequest { fixed, ..FitRequest::default() }],
        cancel: None,
    };
    let parent = run(cpu, &[task(Vec::new())], OutcomeParts::default()).0.remove(0).fits.remove(0).unwrap();
    let at_one =
        run(cpu, &[task(vec![(poi, 1.0)])], OutcomeParts::default()).0.remove(0).fits.remove(0).unwrap();
    let free =
        FitRequest { start: Start::At(parent.parameters.clone().into()), search, ..FitRequest::default() };
    let conditional = FitRequest {
        start: Start::At(at_one.parameters.clone().into()),
        fixed: vec![(poi, 1.0)],
        only_if: Some(Condition { fit: 0, parameter: poi, range: (f64::NEG_INFINITY, 1.0) }),
        ..free.clone()
    };
    for (name, point) in [("b", &parent.parameters), ("sb", &at_one.parameters)] {
        let Ok(source) = cpu.toy_source(point, &Data::observed(), 11, u8::from(name == "sb")) else {
            println!("  {name}: toys cannot be drawn");
            continue;
        };
        let tasks = vec![FitTask {
            data: Data::from(Drawn { source, toys: 0..n_toys }),
            fits: vec![free.clone(), conditional.clone()],
            cancel: None,
        }];
        let (here, time_cpu) = run(cpu, &tasks, OutcomeParts::default());
        let (there, first) = run(gpu, &tasks, OutcomeParts::default());
        let (_, time_gpu) = run(gpu, &tasks, OutcomeParts::default());
        let (mut apart, mut lower, mut worst, mut failed, mut left, mut fits, mut its, mut evs) =
            (0, 0, 0.0_f64, 0, 0, 0, 0, 0);
        for (a, b) in here.iter().zip(&there) {
            for (a, b) in a.fits.iter().zip(&b.fits) {
                match (a, b) {
                    (Ok(a), Ok(b)) => {
                        fits += 1;
                        its += b.n_iterations;
                        evs += b.n_evaluations;
                        failed += usize::from(!b.converged());
                        let difference = (a.nll - b.nll).abs();
                        worst = worst.max(difference);
                        apart += usize::from(2.0 * difference > 1e-8);
                        lower += usize::from(2.0 * (a.nll - b.nll) > 1e-8);
                    }
                    (Err(_), Err(_)) => {}
                    _ => left += 1,
                }
            }
        }
        println!(
            "  {n_toys} toys {name}: {fits} fits, {apart} more than 1e-8 apart ({lower} lower here, worst nll {worst:.1e}), {failed} failed, {left} asked for on one side; {:.1} iterations, {:.1} evaluations; {time_cpu:.0} ms on the CPU, {time_gpu:.1} here (first {first:.1})",
            its as f64 / fits as f64,
            evs as f64 / fits as f64
        );
    }
}
