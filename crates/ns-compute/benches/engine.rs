//! Measures the times of compilation, evaluation and fits on one CPU thread.
//!
//! Run `cargo bench -p ns-compute --bench engine`. If the environment variable `NEXTSTAT_REFERENCE_DIR` names
//! a folder, the published workspaces in its folder `workspaces/` are measured as well.
//!
//! Nothing is measured twice on the same input: every evaluation has a new point, every fit and every
//! compilation has new counts.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stderr)]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BatchSize, BenchmarkGroup, Criterion, criterion_group, criterion_main};
use ns_compute::CpuSession;
use ns_core::{
    Control, Data, EvaluationRequest, Execution, FitOutcome, FitRequest, FitTask, Model, Observations,
    OutcomeParts, Search, Session, TaskOutcome,
};
use ns_translate::pyhf::{ModelOptions, Workspace};

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

/// A sequence of numbers in [-1, 1] that do not repeat, made from the fractions of multiples of the golden
/// ratio.
struct Wiggle(u64);

impl Wiggle {
    fn next(&mut self) -> f64 {
        self.0 += 1;
        2.0 * (self.0 as f64 * 0.618_033_988_749_894_9).fract() - 1.0
    }

    /// Returns `from` with every element changed by up to 0.1 % of its value.
    fn scaled(&mut self, from: &[f64]) -> Vec<f64> {
        from.iter().map(|x| x * (1.0 + 1e-3 * self.next())).collect()
    }

    /// Returns `from` with every element changed by up to 0.001.
    fn shifted(&mut self, from: &[f64]) -> Vec<f64> {
        from.iter().map(|x| x + 1e-3 * self.next()).collect()
    }
}

/// Returns the workspaces to measure, each with its name and path.
fn workspaces() -> Vec<(&'static str, PathBuf)> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let mut found: Vec<_> = [
        ("simple_workspace", "simple_workspace.json"),
        ("all_modifiers", "all_modifiers.json"),
        ("many_bins", "many_bins.json"),
    ]
    .map(|(name, file)| (name, fixtures.join(file)))
    .into();
    match std::env::var_os("NEXTSTAT_REFERENCE_DIR") {
        Some(reference) => found.extend(
            [("tHu", "tHu.json"), ("tttt", "tttt_prod.json"), ("1Lbb", "1Lbb_C1N2_700_400.json")]
                .map(|(name, file)| (name, Path::new(&reference).join("workspaces").join(file))),
        ),
        None => eprintln!("NEXTSTAT_REFERENCE_DIR is not set: the published workspaces are LEFT OUT"),
    }
    found
}

fn model(path: &Path) -> Model {
    let text = std::fs::read(path).unwrap();
    Workspace::from_slice(&text).unwrap().model(&ModelOptions::default()).unwrap()
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
    let task = FitTask { data, fits: vec![FitRequest { search, ..FitRequest::default() }] };
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    session.fit_batch(&[task], wanted, Control::default(), &mut outcomes).unwrap();
    outcomes.remove(0).fits.remove(0).unwrap()
}

fn compile(group: &mut BenchmarkGroup<'_, WallTime>, model: &Model) {
    let mut wiggle = Wiggle(0);
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
    let mut wiggle = Wiggle(0);
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
    let mut wiggle = Wiggle(0);
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
    for (name, path) in workspaces() {
        let model = model(&path);
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
