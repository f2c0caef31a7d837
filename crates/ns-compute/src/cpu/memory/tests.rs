//! Tests of the memory limit and the precision of CPU sessions.

use ns_core::{
    Control, Data, Drawn, Execution, FitRequest, Interpolation, Model, Search, Session, TaskOutcome,
};

use super::*;

// The module `models` is private to the file that includes it. Therefore each test module includes it again.
#[allow(dead_code, clippy::duplicate_mod)]
#[path = "../../../tests/oracle/models.rs"]
mod models;

const ALL: OutcomeParts = OutcomeParts { uncertainties: true, covariance: true, inverse: false };

fn model() -> Model {
    Model { interpolation: Interpolation::SMOOTH, ..models::random_model(13) }
}

fn open(limit: Option<u64>, threads: usize) -> Result<CpuSession, SessionError> {
    CpuSession::open(&model(), &Execution { threads, memory_limit: limit, ..Execution::default() })
}

/// Returns the smallest memory limit, in bytes, at which a session with this number of threads can be opened.
fn least(threads: usize) -> u64 {
    let held = Held::of(&open(None, 1).unwrap().plan);
    8 * (held.plan + held.thread * threads) as u64
}

fn tasks() -> Vec<FitTask> {
    let point: Vec<f64> = model().parameters.iter().map(|p| p.init).collect();
    let fits = vec![FitRequest { search: Search::Local, ..FitRequest::default() }];
    // The source of toys comes from a session without a limit, because computing the expected yields needs memory
    // too.
    let source = open(None, 1).unwrap().toy_source(&point, &Data::observed(), 7, 0).unwrap();
    let drawn = Drawn { source, toys: 0..300 };
    vec![
        FitTask { data: drawn.into(), fits: fits.clone(), cancel: None },
        FitTask { data: Data::observed(), fits, cancel: None },
    ]
}

fn run(session: &CpuSession) -> Vec<String> {
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    session.fit_batch(&tasks(), ALL, Control::default(), &mut outcomes).unwrap();
    outcomes.iter().map(|outcome| format!("{outcome:?}")).collect()
}

#[test]
fn a_limit_makes_batches_smaller_and_changes_no_result() {
    let (free, little) = (open(None, 2).unwrap(), open(Some(least(2) + 50_000), 2).unwrap());
    let ((usual, toys), (fewer, fewer_toys)) =
        (free.batch(&tasks(), ALL).unwrap(), little.batch(&tasks(), ALL).unwrap());
    assert!(
        toys == TOYS_PER_UNIT && fewer_toys < 10 && fewer < 20 && usual > 1000,
        "{fewer} and {fewer_toys}"
    );
    assert_eq!(run(&free), run(&little));
}

#[test]
fn what_does_not_fit_at_all_is_refused_with_the_least_that_would_do() {
    let error = open(Some(least(4) - 1), 4).err().unwrap();
    assert!(matches!(error, SessionError::MemoryLimit { needed, .. } if needed == least(4)), "{error:?}");
    assert!(error.to_string().contains("--memory") && error.to_string().contains("--threads"), "{error}");
    let full = open(Some(least(1)), 1).unwrap();
    let error = full.batch(&tasks(), ALL).unwrap_err();
    let SessionError::MemoryLimit { needed, .. } = error else { unreachable!("{error:?}") };
    assert!(open(Some(needed), 1).unwrap().batch(&tasks(), ALL).is_ok());
    assert!(matches!(open(Some(1), 1), Err(SessionError::MemoryLimit { .. })));
}

#[test]
fn all_cores_are_as_many_as_the_limit_leaves_room_for() {
    let threads = |limit| open(Some(limit), 0).unwrap().threads;
    assert_eq!(threads(least(1)), 1);
    assert_eq!(threads(u64::MAX), open(None, 0).unwrap().threads);
}

#[test]
fn results_of_an_evaluation_count() {
    let session = open(Some(least(1) + 8000), 1).unwrap();
    let request = EvaluationRequest { gradient: true, ..EvaluationRequest::default() };
    let n = session.plan.n_parameters();
    let points = |count: usize| session.plan.structure.table.init.repeat(count);
    assert!(session.evaluate(&Data::observed(), &points(1000 / n), request).is_ok());
    let error = session.evaluate(&Data::observed(), &points(1000 / n + 1), request).unwrap_err();
    assert!(matches!(error, SessionError::MemoryLimit { .. }), "{error}");
}

#[test]
fn a_precision_that_the_cpu_lacks_is_refused() {
    let execution = Execution { precision: ns_core::Precision::F32, ..Execution::default() };
    let error = CpuSession::open(&model(), &execution).err().unwrap();
    assert!(matches!(error, SessionError::UnsupportedPrecision { device: Device::Cpu, .. }), "{error}");
}
