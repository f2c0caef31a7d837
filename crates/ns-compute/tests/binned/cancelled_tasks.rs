//! Checks that cancelling a task does not affect the other tasks of its batch.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::models::random_model;
use ns_compute::CpuSession;
use ns_core::{
    Control, Data, Drawn, Execution, FitFailure, FitRequest, FitTask, OutcomeParts, Session, TaskOutcome,
};

fn run(session: &dyn Session, tasks: &[FitTask]) -> Vec<TaskOutcome> {
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    session.fit_batch(tasks, OutcomeParts::default(), Control::default(), &mut outcomes).unwrap();
    outcomes
}

fn check(session: &dyn Session, tasks: &mut [FitTask], cancelled: usize, first: usize, count: usize) {
    let before = run(session, tasks);
    tasks[cancelled].cancel = Some(Arc::new(AtomicBool::new(true)));
    let after = run(session, tasks);
    assert_eq!(before.len(), after.len());
    for (i, (before, after)) in before.iter().zip(&after).enumerate() {
        if (first..first + count).contains(&i) {
            let all = after.fits.iter().all(|fit| matches!(fit, Err(FitFailure::Cancelled)));
            assert!(all && !after.fits.is_empty(), "outcome {i} is not cancelled");
        } else {
            assert_eq!(format!("{before:?}"), format!("{after:?}"), "outcome {i}");
        }
    }
    // A flag that is not set changes nothing.
    tasks[cancelled].cancel = Some(Arc::default());
    assert_eq!(format!("{:?}", run(session, tasks)), format!("{before:?}"));
}

#[test]
fn a_cancelled_task_leaves_the_others_alone() {
    let model = random_model(3);
    for threads in [1, 2] {
        let session = CpuSession::open(&model, &Execution { threads, ..Execution::default() }).unwrap();
        let init = session.parameters().init.clone();
        let given = || FitTask { data: Data::observed(), fits: vec![FitRequest::default(); 2], cancel: None };
        check(&session, &mut [given(), given(), given()], 1, 1, 1);
        let source = session.toy_source(&init, &Data::observed(), 1, 0).unwrap();
        let toys = |toys: std::ops::Range<u64>| {
            let data = Data::observed().with(Drawn { source: Arc::clone(&source), toys });
            FitTask { data, fits: vec![FitRequest::default()], cancel: None }
        };
        check(&session, &mut [toys(0..300), given(), toys(300..500), toys(500..520)], 2, 301, 200);
    }
}
