//! Compares the speed of a CUDA session and a CPU session: values and gradients at many points, fits with covariance,
//! the refits of a ranking, a scan, derivatives with respect to yields, and toys. On the CPU, batches of fits use all
//! threads, and evaluations at many points use one thread.
//!
//! Run `cargo bench -p ns-compute --features cuda --bench device -- --save-baseline NAME`. If the environment variable
//! `NEXTSTAT_REFERENCE_DIR` names a folder, the published workspaces tHu and tttt in its folder `workspaces/` are
//! measured as well. Each quantity is measured on the GPU directly after the CPU, so that ratios of times come from one
//! run. Without a GPU the program prints the reason and ends. The program also runs without cargo and on another
//! machine: start `target/release/deps/device-* --bench`. It writes the results to `target/criterion` in the current
//! folder.
//!
//! Nothing is measured twice on the same input: every evaluation has new points, every fit new counts, every
//! refit new values of the fixed parameters, every run of toys a new seed and new means.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stderr)]

use std::sync::Arc;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{
    BatchSize, BenchmarkGroup, BenchmarkId, Criterion, SamplingMode, criterion_group, criterion_main,
};
use ns_compute::CpuSession;
use ns_core::{
    Condition, Control, Data, Device, Drawn, EvaluationRequest, Execution, FitOutcome, FitRequest, FitTask,
    InverseHessian, Model, Observations, OutcomeParts, Search, Session, SessionError, Start, TaskOutcome,
};

#[path = "device/differentiable.rs"]
mod differentiable;
mod models;
use models::Wiggle;

/// Number of points of one evaluation.
const N_POINTS: usize = 1000;
/// Number of points of a scan.
const N_SCAN: usize = 41;
/// Number of toys for each of the two hypotheses.
const N_TOYS: u64 = 1000;
/// Number of toys for each of the two hypotheses, for a model whose toys are quick to fit.
const N_QUICK_TOYS: u64 = 10_000;

/// Returns the models to measure, each with its name and its number of toys per hypothesis.
fn models() -> Vec<(&'static str, Model, u64)> {
    let mut found = vec![
        ("gammas_50x4", models::gammas(50, 4), N_QUICK_TOYS),
        ("systematics_250x1000", models::systematics(250, 20, 50), N_TOYS),
    ];
    found.extend(models::published().into_iter().map(|(name, model)| (name, model, N_TOYS)));
    found
}

/// Returns whether there is a CUDA device to measure. If there is none, prints the reason.
fn is_there() -> bool {
    #[cfg(feature = "cuda-on-host")]
    if std::env::var_os("NEXTSTAT_CUDA_ON_HOST").is_some() {
        eprintln!("the kernels compiled for the CPU stand in for a device: these are no times of one");
        return true;
    }
    let why = match ns_compute::device::cuda::found() {
        Ok(devices) if !devices.is_empty() => return true,
        Ok(_) => "NVIDIA's driver shows no CUDA device".into(),
        Err(error) => error.to_string(),
    };
    eprintln!("SKIPPED: {why}");
    false
}

fn open(model: &Model) -> Result<Box<dyn Session>, SessionError> {
    let execution = Execution { device: Device::Cuda(0), ..Execution::default() };
    #[cfg(feature = "cuda-on-host")]
    if std::env::var_os("NEXTSTAT_CUDA_ON_HOST").is_some() {
        return Ok(Box::new(ns_compute::device::host::open(model, &execution)?));
    }
    ns_compute::device::cuda::open(model, &execution)
}

/// The two devices to compare, each with its name and its session.
type Sessions<'a> = [(&'static str, &'a dyn Session); 2];

fn run(session: &dyn Session, tasks: &[FitTask], wanted: OutcomeParts) -> Vec<TaskOutcome> {
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    session.fit_batch(tasks, wanted, Control::default(), &mut outcomes).unwrap();
    outcomes
}

fn fit(session: &dyn Session, fixed: Vec<(usize, f64)>, wanted: OutcomeParts) -> FitOutcome {
    let task = FitTask {
        data: Data::observed(),
        fits: vec![FitRequest { fixed, ..FitRequest::default() }],
        cancel: None,
    };
    run(session, &[task], wanted).remove(0).fits.remove(0).unwrap()
}

/// Asserts that at least 99 % of the fits that were made converged. Otherwise fits that fail early would look fast.
fn assert_converged(what: &str, outcomes: &[TaskOutcome]) {
    let fits = || outcomes.iter().flat_map(|outcome| &outcome.fits).flatten();
    let (made, converged) = (fits().count(), fits().filter(|fit| fit.converged()).count());
    assert!(made > 0 && converged * 100 >= made * 99, "{what}: {converged} of {made} fits converge");
}

fn values(group: &mut BenchmarkGroup<'_, WallTime>, sessions: &Sessions<'_>) {
    let value = EvaluationRequest { nll: true, ..EvaluationRequest::default() };
    for (what, request) in
        [("1000_values", value), ("1000_gradients", EvaluationRequest { gradient: true, ..value })]
    {
        for (device, session) in sessions {
            let table = session.parameters();
            let mut wiggle = Wiggle::default();
            let mut points = || -> Vec<f64> {
                let point = table.init.iter().zip(&table.bounds);
                let moved = point.cycle().take(N_POINTS * table.init.len());
                moved.map(|(x, bounds)| (x + 0.1 * wiggle.next()).clamp(bounds.0, bounds.1)).collect()
            };
            group.bench_function(BenchmarkId::new(what, device), |b| {
                b.iter_batched(
                    &mut points,
                    |points| session.evaluate(&Data::observed(), &points, request).unwrap(),
                    BatchSize::PerIteration,
                );
            });
        }
    }
}

/// Measures fits with uncertainties and covariance. The data are the observed counts, each changed by up to 0.1 %.
fn fits(
    group: &mut BenchmarkGroup<'_, WallTime>,
    sessions: &Sessions<'_>,
    model: &Model,
    wanted: OutcomeParts,
) {
    for (device, session) in sessions {
        let mut wiggle = Wiggle::default();
        let mut task = || {
            let main = model.observed.main.iter().map(|n| n * (1.0 + 1e-3 * wiggle.next())).collect();
            let data = Observations::binned(main, model.observed.aux.clone()).into();
            [FitTask { data, fits: vec![FitRequest::default()], cancel: None }]
        };
        assert_converged(device, &run(*session, &task(), wanted));
        group.bench_function(BenchmarkId::new("fit_with_covariance", device), |b| {
            b.iter_batched(&mut task, |task| run(*session, &task, wanted), BatchSize::PerIteration);
        });
    }
}

/// Measures the refits of a ranking. Each refit fixes one parameter other than the POI at one uncertainty
/// above or below its best-fit value.
fn refits(
    group: &mut BenchmarkGroup<'_, WallTime>,
    sessions: &Sessions<'_>,
    model: &Model,
    best: &FitOutcome,
) {
    let covariance = best.covariance.as_ref().unwrap();
    for (device, session) in sessions {
        let bounds = &session.parameters().bounds;
        let mut wiggle = Wiggle::default();
        let mut tasks = || {
            let mut tasks = Vec::new();
            for (p, sigma) in best.uncertainties.iter().enumerate() {
                let Some(sigma) = sigma.filter(|_| Some(p) != model.poi()) else { continue };
                for sign in [1.0, -1.0] {
                    let shift = sign * sigma * (1.0 + 1e-3 * wiggle.next());
                    let value = (best.parameters[p] + shift).clamp(bounds[p].0, bounds[p].1);
                    let along = |q: usize| {
                        let slope = covariance.get(p, q) / covariance.get(p, p);
                        let x = best.parameters[q] + slope * (value - best.parameters[p]);
                        if q == p { value } else { x.clamp(bounds[q].0, bounds[q].1) }
                    };
                    let request = FitRequest {
                        start: Start::At((0..bounds.len()).map(along).collect()),
                        fixed: vec![(p, value)],
                        search: Search::Local,
                        metric: Some(InverseHessian::Dense(Arc::clone(covariance))),
                        ..FitRequest::default()
                    };
                    tasks.push(FitTask { data: Data::observed(), fits: vec![request], cancel: None });
                }
            }
            tasks
        };
        assert_converged(device, &run(*session, &tasks(), OutcomeParts::default()));
        group.bench_function(BenchmarkId::new("ranking_refits", device), |b| {
            b.iter_batched(
                &mut tasks,
                |tasks| run(*session, &tasks, OutcomeParts::default()),
                BatchSize::PerIteration,
            );
        });
    }
}

/// Measures the conditional fits of a scan, in which the POI is fixed at [`N_SCAN`] values around its best-fit value.
fn scan(group: &mut BenchmarkGroup<'_, WallTime>, sessions: &Sessions<'_>, poi: usize, best: &FitOutcome) {
    let sigma = best.uncertainties[poi].unwrap();
    for (device, session) in sessions {
        let bounds = session.parameters().bounds[poi];
        let mut wiggle = Wiggle::default();
        let mut tasks = || -> Vec<FitTask> {
            let shift = 1e-3 * wiggle.next();
            let values = (0..N_SCAN).map(|i| {
                let value =
                    best.parameters[poi] + sigma * (4.0 * i as f64 / (N_SCAN - 1) as f64 - 2.0 + shift);
                value.clamp(bounds.0, bounds.1)
            });
            let fit = |value| FitRequest {
                start: Start::At(best.parameters.clone().into()),
                fixed: vec![(poi, value)],
                search: Search::Local,
                ..FitRequest::default()
            };
            let task = |value| FitTask { data: Data::observed(), fits: vec![fit(value)], cancel: None };
            values.map(task).collect()
        };
        assert_converged(device, &run(*session, &tasks(), OutcomeParts::default()));
        group.bench_function(BenchmarkId::new("scan_41_points", device), |b| {
            b.iter_batched(
                &mut tasks,
                |tasks| run(*session, &tasks, OutcomeParts::default()),
                BatchSize::PerIteration,
            );
        });
    }
}

/// Measures the toys of a test of `mu = 1` with the test statistic qtilde: a free fit of each toy, and a fit
/// with `mu = 1` fixed if the best-fit `mu` is not above 1. There are `n_toys` toys with `mu = 0` and as many
/// with `mu = 1`.
fn toys(
    group: &mut BenchmarkGroup<'_, WallTime>,
    sessions: &Sessions<'_>,
    poi: usize,
    free: &FitOutcome,
    n_toys: u64,
) {
    let [(_, cpu), _] = sessions;
    let at = |mu| fit(*cpu, vec![(poi, mu)], OutcomeParts::default()).parameters;
    let (background, signal) = (at(0.0), at(1.0));
    let first = FitRequest {
        start: Start::At(free.parameters.clone().into()),
        search: Search::Local,
        ..FitRequest::default()
    };
    let second = FitRequest {
        start: Start::At(signal.clone().into()),
        fixed: vec![(poi, 1.0)],
        only_if: Some(Condition { fit: 0, parameter: poi, range: (f64::NEG_INFINITY, 1.0) }),
        ..first.clone()
    };
    for (device, session) in sessions {
        let (mut seed, mut wiggle) = (0, Wiggle::default());
        let mut tasks = || {
            seed += 1;
            [(&background, 0), (&signal, 1)].map(|(point, hypothesis)| {
                let point = point.iter().zip(&cpu.parameters().bounds);
                let moved = point.map(|(x, to)| (x * (1.0 + 1e-6 * wiggle.next())).clamp(to.0, to.1));
                let source =
                    cpu.toy_source(&moved.collect::<Vec<_>>(), &Data::observed(), seed, hypothesis).unwrap();
                let data = Data::from(Drawn { source, toys: 0..n_toys });
                FitTask { data, fits: vec![first.clone(), second.clone()], cancel: None }
            })
        };
        assert_converged(device, &run(*session, &tasks(), OutcomeParts::default()));
        group.bench_function(BenchmarkId::new(format!("toys_2x{n_toys}"), device), |b| {
            b.iter_batched(
                &mut tasks,
                |tasks| run(*session, &tasks, OutcomeParts::default()),
                BatchSize::PerIteration,
            );
        });
    }
}

fn device(c: &mut Criterion) {
    if !is_there() {
        return;
    }
    for (name, model, n_toys) in models() {
        let cpu = CpuSession::open(&model, &Execution::default()).unwrap();
        let cuda = open(&model).unwrap();
        let sessions: Sessions<'_> = [("cpu", &cpu), ("cuda", cuda.as_ref())];
        let wanted = OutcomeParts { uncertainties: true, covariance: true, inverse: false };
        let best = fit(&cpu, Vec::new(), wanted);
        let mut group = c.benchmark_group(format!("device/{name}"));
        group
            .sample_size(10)
            .sampling_mode(SamplingMode::Flat)
            .nresamples(10_000)
            .warm_up_time(Duration::from_millis(300))
            .measurement_time(Duration::from_millis(700));
        values(&mut group, &sessions);
        fits(&mut group, &sessions, &model, wanted);
        refits(&mut group, &sessions, &model, &best);
        scan(&mut group, &sessions, model.poi().unwrap(), &best);
        differentiable::rows(&mut group, &model);
        toys(&mut group, &sessions, model.poi().unwrap(), &best, n_toys);
        group.finish();
        let check = cuda.check().unwrap();
        assert!(check.violation().is_none(), "{name}: {check:?}");
    }
}

criterion_group!(benches, device);
criterion_main!(benches);
