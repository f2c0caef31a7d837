//! Measures the times of compilation, evaluation and fits on one CPU thread.
//!
//! Run `cargo bench -p ns-compute --bench engine`. If the environment variable `NEXTSTAT_REFERENCE_DIR` names
//! a folder, the published workspaces in its folder `workspaces/` are measured as well.
//!
//! Nothing is measured twice on the same input: every evaluation has a new point, every fit and every
//! compilation has new counts.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stderr)]

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BatchSize, BenchmarkGroup, Criterion, criterion_group, criterion_main};
use ns_compute::CpuSession;
use ns_core::{
    Control, Data, EvaluationRequest, Execution, FitOutcome, FitRequest, FitTask, Model, Observations,
    OutcomeParts, Search, Session, TaskOutcome,
};
use ns_translate::pyhf::{ModelOptions, Workspace};

mod models;
use models::Wiggle;

/// Number of points that are prepared together. Their evaluations are timed together, between two readings of
/// the clock.
const BATCH: BatchSize = BatchSize::NumIterations(64);

/// Request for the value of `-ln L`.
const VALUE: EvaluationRequest =
    EvaluationRequest { nll: true, gradient: false, hessian: false, expected: false, samples: false };
/// Request for value and gradient of `-ln L`.
const GRADIENT: EvaluationRequest = EvaluationRequest { gradient: true, ..VALUE };
/// Request for the Hessian of `-ln L`.
const HESSIAN: EvaluationRequest = EvaluationRequest { nll: false, hessian: true, ..VALUE };

/// Returns the models to measure, each with its name.
fn all_models() -> Vec<(&'static str, Model)> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let read = |path: &Path| Workspace::from_path(path).unwrap().model(&ModelOptions::default()).unwrap();
    let mut found: Vec<_> = [
        ("simple_workspace", "simple_workspace.json"),
        ("all_modifiers", "all_modifiers.json"),
        ("many_bins", "many_bins.json"),
    ]
    .map(|(name, file)| (name, read(&fixtures.join(file))))
    .into();
    found.push(("systematics_250x1000", models::systematics(250, 20, 50)));
    found.extend(models::published());
    if let Some(reference) = std::env::var_os("NEXTSTAT_REFERENCE_DIR") {
        found.push(("1Lbb", read(&Path::new(&reference).join("workspaces/1Lbb_C1N2_700_400.json"))));
    }
    found
}

fn single_thread() -> Execution {
    Execution { threads: 1, ..Execution::default() }
}

/// Returns the model's observed data with every count changed by up to 0.1 %.
fn moved_counts(model: &Model, wiggle: &mut Wiggle) -> Data {
    let observed = &model.observed;
    Observations::binned(wiggle.scaled(&observed.main), observed.aux.clone()).into()
}

fn fit(session: &CpuSession, data: Data, search: Search, wanted: OutcomeParts) -> FitOutcome {
    let task = FitTask { data, fits: vec![FitRequest { search, ..FitRequest::default() }], cancel: None };
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    session.fit_batch(&[task], wanted, Control::default(), &mut outcomes).unwrap();
    outcomes.remove(0).fits.remove(0).unwrap()
}

fn compile(group: &mut BenchmarkGroup<'_, WallTime>, model: &Model) {
    let mut wiggle = Wiggle::default();
    let execution = single_thread();
    let mut fresh = || {
        let mut model = model.clone();
        model.observed.main = wiggle.scaled(&model.observed.main);
        model
    };
    group.bench_function("compile", |b| {
        b.iter_batched_ref(
            &mut fresh,
            |model| CpuSession::open(model, &execution).unwrap(),
            BatchSize::PerIteration,
        );
    });
}

fn evaluate(group: &mut BenchmarkGroup<'_, WallTime>, session: &CpuSession) {
    let init = &session.parameters().init;
    let mut wiggle = Wiggle::default();
    // A Hessian may take megabytes, so only one Hessian is kept at a time.
    for (name, request, batch) in [
        ("value", VALUE, BATCH),
        ("value_and_gradient", GRADIENT, BATCH),
        ("hessian", HESSIAN, BatchSize::PerIteration),
    ] {
        group.bench_function(name, |b| {
            b.iter_batched_ref(
                || wiggle.shifted(init),
                |point| session.evaluate(&Data::observed(), black_box(point), request).unwrap(),
                batch,
            );
        });
    }
}

fn fits(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, model: &Model, session: &CpuSession) {
    let mut wiggle = Wiggle::default();
    let everything = OutcomeParts { uncertainties: true, covariance: true, inverse: false };
    for (what, search, wanted) in [
        ("fit_local", Search::Local, OutcomeParts::default()),
        ("fit_with_covariance", Search::Standard, everything),
    ] {
        let outcome = fit(session, Data::observed(), search, wanted);
        assert!(outcome.converged(), "{name}: {what} does not converge: {:?}", outcome.status);
        group.bench_function(what, |b| {
            b.iter_batched(
                || moved_counts(model, &mut wiggle),
                |data| fit(session, data, search, wanted),
                BatchSize::PerIteration,
            );
        });
    }
}

fn engine(c: &mut Criterion) {
    for (name, model) in all_models() {
        let session = CpuSession::open(&model, &single_thread()).unwrap();
        let mut group = c.benchmark_group(name);
        group.sample_size(20).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3));
        compile(&mut group, &model);
        evaluate(&mut group, &session);
        fits(&mut group, name, &model, &session);
        group.finish();
    }
}

criterion_group!(benches, engine);
criterion_main!(benches);
