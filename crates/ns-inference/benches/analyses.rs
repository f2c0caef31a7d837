//! Measures the times of whole analyses on an open session: scans, rankings, tests and limits. The analyses run on the
//! threads of the CPU and, with the feature `cuda`, on the first GPU too.
//!
//! Run `cargo bench -p ns-inference --features cuda --bench analyses -- --save-baseline NAME`. If the environment
//! variable `NEXTSTAT_REFERENCE_DIR` is set, the published workspaces tHu and tttt in the folder `workspaces/` inside
//! it are measured too. Without a GPU, the measurements on the GPU are left out, and the reason is printed.
//!
//! Each run of an analysis has different observed counts, so that no result of an earlier run can be reused.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stderr)]

use std::sync::Arc;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, SamplingMode, criterion_group, criterion_main};
use ns_core::{Control, Device, Execution, Model, Observations, Session};
use ns_inference::{
    FitData, FitOptions, HypotestOptions, LimitOptions, RankingOptions, ScanAxis, ScanOptions, hypotest,
    open_session, ranking, scan, upper_limit,
};

#[path = "../../ns-compute/benches/models/mod.rs"]
mod models;
use models::Wiggle;

/// Tested value of the parameter of interest.
const MU: f64 = 1.0;

/// Number of values of the parameter of interest in a scan.
const POINTS: usize = 41;

/// Returns the sessions to compare, each with its name.
fn sessions(model: &Model) -> Vec<(&'static str, Box<dyn Session>)> {
    let mut found = vec![("cpu", open_session(model, &Execution::default()).unwrap())];
    let gpu = Execution { device: Device::Cuda(0), ..Execution::default() };
    match open_session(model, &gpu) {
        Ok(session) => found.push(("cuda", session)),
        Err(error) => eprintln!("SKIPPED on a GPU: {error}"),
    }
    found
}

/// Returns fit options whose data are the observed data of the model with changed counts. Each count is changed by up
/// to 0.1 %.
fn moved_counts(model: &Model, wiggle: &mut Wiggle) -> FitOptions {
    let data = Observations::binned(wiggle.scaled(&model.observed.main), model.observed.aux.clone());
    FitOptions::default().data(FitData::Given(Arc::new(data)))
}

/// A function that runs an analysis of a model with the given fit options. It returns the result as text, so that the
/// compiler cannot omit a part of the calculation.
type Analysis = fn(&Model, &dyn Session, FitOptions) -> String;

const ANALYSES: [(&str, Analysis); 4] = [
    ("scan_41_points", |model, session, fit| {
        let options = ScanOptions::new(ScanAxis::default().points(POINTS)).fit(fit).intervals(false);
        let result = scan(model, session, &options, Control::default()).unwrap();
        format!("{:?}", result.q_mu_values)
    }),
    ("ranking", |model, session, fit| {
        let options = RankingOptions::default().fit(fit);
        let result = ranking(model, session, &options, Control::default()).unwrap();
        format!("{:?}", result.mu_hat)
    }),
    ("hypotest", |model, session, fit| {
        let options = HypotestOptions::default().fit(fit);
        format!("{:?}", hypotest(model, session, MU, &options, Control::default()).unwrap().cls)
    }),
    ("upper_limit", |model, session, fit| {
        let options = LimitOptions::default().fit(fit);
        format!("{:?}", upper_limit(model, session, &options, Control::default()).unwrap().observed)
    }),
];

fn analyses(c: &mut Criterion) {
    let mut all = vec![
        ("gammas_50x4", models::gammas(50, 4)),
        ("systematics_250x1000", models::systematics(250, 20, 50)),
    ];
    all.extend(models::published());
    for (name, model) in all {
        let mut group = c.benchmark_group(format!("analyses/{name}"));
        group
            .sample_size(10)
            .sampling_mode(SamplingMode::Flat)
            .warm_up_time(Duration::from_millis(500))
            .measurement_time(Duration::from_secs(2));
        let sessions = sessions(&model);
        for (what, analysis) in ANALYSES {
            for (device, session) in &sessions {
                let mut wiggle = Wiggle::default();
                group.bench_function(BenchmarkId::new(what, device), |b| {
                    b.iter_batched(
                        || moved_counts(&model, &mut wiggle),
                        |fit| analysis(&model, session.as_ref(), fit),
                        BatchSize::PerIteration,
                    );
                });
            }
        }
        group.finish();
    }
}

criterion_group!(benches, analyses);
criterion_main!(benches);
